"""Names of the places that visitors come from: hosts and apps that people know as one, such as Facebook."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple


class Place(NamedTuple):
    name: str
    icon: str
    """Its id in `symbols/brands.svg`; empty if there is none."""


# name, icon, hosts with those below them and packages of Android apps; `google.*` is google.de and google.co.uk, too
_TABLE: Final = """
Amazon          amazon          amazon.* amzn.to com.amazon.mShop.android.shopping
Asana           asana           asana.com
Baidu           baidu           baidu.com
Bing            -               bing.com
Bluesky         -               bsky.app xyz.blueskyweb.app
Brave_Search    brave           search.brave.com
ChatGPT         openai          chatgpt.com chat.openai.com com.openai.chatgpt
Discord         discord         discord.com discordapp.com discord.gg com.discord
Dropbox         dropbox         dropbox.com
DuckDuckGo      duckduckgo      duckduckgo.com com.duckduckgo.mobile.android
eBay            ebay            ebay.*
Ecosia          -               ecosia.org
Etsy            etsy            etsy.com
Facebook        facebook        facebook.com fb.com fb.me com.facebook.katana com.facebook.lite
Feedly          feedly          feedly.com
Flipboard       flipboard       flipboard.com flipboard.app
GitHub          github          github.com
GitLab          gitlab          gitlab.com
Gmail           gmail           mail.google.com com.google.android.gm
Google          google          google.* com.google.android.googlequicksearchbox
Google_Drive    googledrive     docs.google.com drive.google.com
Google_News     googlenews      news.google.com com.google.android.apps.magazines
Hacker_News     ycombinator     news.ycombinator.com
HubSpot         hubspot         hubspot.com
Instagram       instagram       instagram.com com.instagram.android
Jira            jira            atlassian.net
KakaoTalk       kakaotalk       kakao.com com.kakao.talk
LINE            line            line.me jp.naver.line.android
LinkedIn        linkedin        linkedin.com lnkd.in com.linkedin.android
Mailchimp       mailchimp       mailchi.mp list-manage.com mailchimp.com
Mastodon        mastodon        mastodon.social mastodon.online mstdn.social org.joinmastodon.android
Medium          medium          medium.com
Messenger       messenger       messenger.com com.facebook.orca
Microsoft_Teams microsoftteams  teams.microsoft.com teams.cdn.office.net com.microsoft.teams
Naver           naver           naver.com com.nhn.android.search
Notion          notion          notion.so notion.site
Outlook         microsoftoutlook outlook.live.com outlook.office.com outlook.office365.com com.microsoft.office.outlook
Pinterest       pinterest       pinterest.* pin.it com.pinterest
Product_Hunt    producthunt     producthunt.com
Quora           quora           quora.com
Qwant           qwant           qwant.com
Reddit          reddit          reddit.com redd.it com.reddit.frontpage
Salesforce      salesforce      salesforce.com force.com
Shopify         shopify         shopify.com
Signal          signal          signal.org org.thoughtcrime.securesms
Slack           slack           slack.com com.slack com.Slack
Snapchat        snapchat        snapchat.com com.snapchat.android
Spotify         spotify         spotify.com
Stack_Overflow  stackoverflow   stackoverflow.com
Substack        substack        substack.com
Telegram        telegram        t.me telegram.org telegram.me org.telegram.messenger
Threads         threads         threads.net threads.com com.instagram.barcelona
TikTok          tiktok          tiktok.com com.zhiliaoapp.musically
Trello          trello          trello.com
Tumblr          tumblr          tumblr.com
Twitch          twitch          twitch.tv
Vimeo           vimeo           vimeo.com
VK              vk              vk.com com.vkontakte.android
WeChat          wechat          weixin.qq.com wechat.com com.tencent.mm
WhatsApp        whatsapp        whatsapp.com wa.me com.whatsapp
Wikipedia       wikipedia       wikipedia.org
WordPress       wordpress       wordpress.com
X               x               x.com t.co twitter.com com.twitter.android
Xing            xing            xing.com
Yahoo           yahoo           yahoo.* com.yahoo.mobile.client.android.mail
Yandex          -               yandex.* ya.ru
YouTube         youtube         youtube.com youtu.be com.google.android.youtube
Zoom            zoom            zoom.us
"""
_OF_COUNTRY = re.compile(r"\.(?:com?\.)?[a-z]{2,3}", re.ASCII)


def _read_table() -> Iterator[tuple[str, Place]]:
    for line in _TABLE.strip().splitlines():
        name, icon, *hosts = line.split()
        place = Place(name.replace("_", " "), icon.strip("-"))
        yield from ((host.lower(), place) for host in hosts)


PLACES: Final = dict(_read_table())
"""By host, or package of an app, in small letters."""


def find_place(host: str) -> Place | None:
    """Return the place of a host, or of one of the domains that it is below."""
    rest = host.lower()
    while rest:
        if place := PLACES.get(rest):
            return place
        first, dot, parent = rest.partition(".")
        if _OF_COUNTRY.fullmatch(dot + parent) and (place := PLACES.get(f"{first}.*")):
            return place
        rest = parent
    return None

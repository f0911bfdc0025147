#!/bin/bash

# @raycast.schemaVersion 1
# @raycast.title Shorten with Waypost
# @raycast.mode compact
# @raycast.packageName Waypost
# @raycast.icon 🔗
# @raycast.description Shorten a URL, or that of the clipboard, and copy the short URL
# @raycast.argument1 { "type": "text", "placeholder": "URL (that of the clipboard)", "optional": true }
# @raycast.argument2 { "type": "text", "placeholder": "slug", "optional": true }

# Two lines: the address of your Waypost, and an API key with the scope links:write
settings="$HOME/.config/waypost/raycast"

fail() {
  echo "$1"
  exit 1
}

command -v jq >/dev/null || fail "jq is missing: brew install jq"
{ read -r base_url; read -r api_key; } 2>/dev/null <"$settings"
[ -n "$api_key" ] || fail "Write the address of your Waypost and an API key into $settings, in two lines."
case "$base_url" in
  https://* | http://localhost[:/]* | http://127.0.0.1[:/]*) ;;
  *) fail "The address in $settings must begin with https://." ;;
esac
url="${1:-$(pbpaste)}"
case "$url" in
  http://* | https://*) ;;
  *) fail "This is not a URL: ${url:0:60}" ;;
esac

body="$(jq --null-input --arg url "$url" --arg slug "$2" '{destination_url: $url} + if $slug == "" then {} else {slug: $slug} end')"
# curl reads the key from its standard input: the list of processes shows arguments to everybody
answer="$(curl --silent --max-time 60 --config - --data-binary "$body" "${base_url%/}/api/v1/links" <<CONFIG
header = "Authorization: Bearer $api_key"
header = "Content-Type: application/json"
header = "Accept: application/json"
CONFIG
)" || fail "No response from $base_url."
short="$(jq --raw-output '.data.short_url // empty' <<<"$answer" 2>/dev/null)"
if [ -z "$short" ]; then
  fail "$(jq --raw-output '[.error.message, (.error.errors // {} | to_entries[] | "\(.key): \(.value | join(" "))")] | join(" ")' \
    <<<"$answer" 2>/dev/null || echo "There is no Waypost at $base_url.")"
fi
printf '%s' "${base_url%%:*}://$short" | pbcopy
echo "Copied ${base_url%%:*}://$short"

// Fires the pixels that the page's data names, each as its platform's own snippet does, and redirects.
// Comments and indentation are removed before it is sent.
(() => {
  const { to, pixels, visit } = JSON.parse(document.getElementById("visit").textContent);
  const LIMIT = 1500; // milliseconds: the longest wait, whatever hangs
  const GRACE = 400; // after a script has loaded, for a request that is never observed
  let hasLeft = false;
  const leave = () => {
    if (hasLeft) return;
    hasLeft = true;
    location.replace(to);
  };
  setTimeout(leave, LIMIT);

  // The same id that the server sends to the platforms.
  const event = visit.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  const idsOf = (platform) => pixels.filter((pixel) => pixel[0] === platform).map((pixel) => pixel[1]);

  const waiting = new Set();
  const done = (tag) => {
    waiting.delete(tag);
    if (!waiting.size) leave();
  };
  const load = (src, beacon, requests) => {
    const tag = { beacon, requests };
    waiting.add(tag);
    const script = document.createElement("script");
    script.async = true;
    script.src = src;
    script.onerror = () => done(tag);
    script.onload = () => setTimeout(done, GRACE, tag);
    document.head.append(script);
  };

  const facebook = (ids) => {
    const fbq = (window.fbq = window._fbq = function () {
      fbq.callMethod ? fbq.callMethod.apply(fbq, arguments) : fbq.queue.push(arguments);
    });
    fbq.push = fbq;
    fbq.loaded = true;
    fbq.version = "2.0";
    fbq.queue = [];
    ids.forEach((id) => fbq("init", id));
    fbq("track", "PageView", {}, { eventID: event });
    load("https://connect.facebook.net/en_US/fbevents.js", /^https:\/\/www\.facebook\.com\/tr\b/, ids.length);
  };

  const tiktok = (ids) => {
    const url = "https://analytics.tiktok.com/i18n/pixel/events.js";
    window.TiktokAnalyticsObject = "ttq";
    const ttq = (window.ttq = []);
    ttq.methods = ("page track identify instances debug on off once ready alias group enableCookie disableCookie " +
      "holdConsent revokeConsent grantConsent").split(" ");
    ttq.setAndDefer = (queue, method) => {
      queue[method] = (...given) => queue.push([method, ...given]);
    };
    ttq.methods.forEach((method) => ttq.setAndDefer(ttq, method));
    ttq.instance = (id) => {
      const queue = ttq._i[id] || [];
      ttq.methods.forEach((method) => ttq.setAndDefer(queue, method));
      return queue;
    };
    // Entries, not assignments: any id, even __proto__, becomes a property of its own.
    const ofEach = (make) => Object.fromEntries(ids.map((id) => [id, make()]));
    ttq._i = ofEach(() => Object.assign([], { _u: url }));
    ttq._t = ofEach(Date.now);
    ttq._o = ofEach(() => ({}));
    // TikTok's own code passes the event's id first, its documentation second.
    ttq.page({ event_id: event }, { event_id: event });
    // The script is for one pixel, so each pixel loads its own.
    ids.forEach((id) =>
      load(`${url}?sdkid=${encodeURIComponent(id)}&lib=ttq`, /^https:\/\/analytics\.tiktok\.com\/api\/v2\/pixel\/?(\?|$)/, 1),
    );
  };

  const pinterest = (ids) => {
    const pintrk = (window.pintrk = (...given) => pintrk.queue.push(given));
    pintrk.queue = [];
    pintrk.version = "3.0";
    ids.forEach((id) => pintrk("load", id));
    pintrk("page", { event_id: event });
    load("https://s.pinimg.com/ct/core.js", /^https:\/\/ct\.pinterest\.com\/v3\b/, ids.length);
  };

  const googleAds = (ids) => {
    const layer = (window.dataLayer = []);
    const gtag = (window.gtag = function () {
      layer.push(arguments);
    });
    gtag("js", new Date());
    ids.forEach((id) => gtag("config", id));
    // Requests the script by the id of a tag, never of a container, which would be a script of the pixel's owner.
    const named =
      ids.find((id) => /^(AW|DC|G|GT)-[A-Z0-9-]+$/i.test(id)) ?? ids.find((id) => !/gtm|opt/i.test(id)) ?? "";
    load(
      `https://www.googletagmanager.com/gtag/js?id=${encodeURIComponent(named)}`,
      /^https:\/\/(googleads\.g\.doubleclick\.net|www\.googleadservices\.com)\/pagead\/|^https:\/\/www\.google\.com\/rmkt\//,
      ids.length,
    );
  };

  const platforms = { facebook, tiktok, pinterest, google_ads: googleAds };
  // Fires when a request has been answered, so it has certainly been sent.
  new PerformanceObserver((list) => {
    for (const { name } of list.getEntries()) {
      const tag = [...waiting].find((one) => one.beacon.test(name));
      if (tag && !--tag.requests) done(tag);
    }
  }).observe({ type: "resource" });
  for (const name in platforms) {
    const ids = idsOf(name);
    if (ids.length) platforms[name](ids);
  }
})();

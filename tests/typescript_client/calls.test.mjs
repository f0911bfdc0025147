// Each resource of the client against the real service.

import assert from "node:assert/strict";
import { test } from "node:test";

import { etagOf, Forbidden, NotFound, ValidationError } from "@waypost/client";

import { all, BROWSER, eventually, newClient, RUN, SERVICE, WEBSITE } from "./support.mjs";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC",
  "base64",
);

test("links", async () => {
  const waypost = newClient();
  const expires = new Date("2999-12-31T23:59:59Z");
  const link = await waypost.links.create({
    destination_url: WEBSITE,
    slug: `all-fields-${RUN}`,
    title: "A title",
    tags: ["one", "two"],
    utm_params: { utm_source: "mail" },
    expires_at: expires,
    og_image: null,
  });
  assert.deepEqual([link.slug, link.title, link.tags, link.status], [`all-fields-${RUN}`, "A title", ["one", "two"], "active"]);
  assert.equal(new Date(link.expires_at).getTime(), expires.getTime());
  const read = await waypost.links.get(link.id);
  assert.deepEqual(read, link);
  const changed = await waypost.links.update(link.id, { expires_at: null, title: "Other" });
  assert.deepEqual([changed.expires_at, changed.title, changed.tags], [null, "Other", ["one", "two"]]);
  const kept = await waypost.links.update(link.id, { destination_url: WEBSITE, utm_params: link.utm_params });
  assert.deepEqual(kept.utm_params, link.utm_params);
  assert.deepEqual((await all(waypost.links.list({ search: `all-fields-${RUN}` }))).map((each) => each.id), [link.id]);
  assert.equal(etagOf(kept), etagOf(await waypost.links.get(link.id)));
  await assert.rejects(waypost.links.delete(link.id, { ifMatch: etagOf(read) }), { status: 412 });
  assert.equal(await waypost.links.delete(link.id, { ifMatch: etagOf(kept) }), undefined);
  await assert.rejects(waypost.links.get(link.id), NotFound);
});

test("images of links", async () => {
  const waypost = newClient();
  const link = await waypost.links.create({
    destination_url: WEBSITE,
    og_image_file: PNG,
    tags: ["ä", "b"],
    utm_params: { utm_source: "mail" },
    expires_at: new Date("2999-12-31T23:59:59Z"),
  });
  assert.ok(link.og_image);
  assert.deepEqual([link.tags, link.utm_params.utm_source], [["ä", "b"], "mail"]);
  assert.ok(link.expires_at.startsWith("2999-12-31T23:59:59"));
  const file = new Blob([PNG], { type: "image/png" });
  const changed = await waypost.links.update(link.id, { og_image_file: file, expires_at: null, tags: [] });
  assert.deepEqual([changed.expires_at, changed.tags], [null, []]);
  assert.ok(changed.og_image);
});

test("many links", async () => {
  const waypost = newClient();
  const made = await waypost.links.bulkCreate([
    { destination_url: WEBSITE, title: "a" },
    { destination_url: "ftp://a.b" },
  ]);
  assert.deepEqual([made.data.map((row) => row.status), made.meta.created], [["created", "invalid"], 1]);
  assert.ok(made.data[1].errors);
  const ids = [made.data[0].link.id];
  const set = { add_tags: [`many ${RUN}`], expires_at: new Date("2999-01-01T00:00:00Z") };
  assert.equal((await waypost.links.bulkUpdate({ ids, set })).meta.updated, 1);
  assert.deepEqual((await all(waypost.links.list({ tag: `many ${RUN}`, status: "active" }))).map((each) => each.id), ids);
  await assert.rejects(waypost.links.bulkUpdate({ ids, set: { status: "broken" } }), /set\.status/);
  assert.deepEqual((await waypost.links.bulkDelete(ids)).data.map((row) => row.status), ["deleted"]);
});

test("domains, aliases and routing", async () => {
  const waypost = newClient();
  const domain = await waypost.domains.create({ hostname: `go-${RUN}.typed.test` });
  assert.deepEqual([domain.status, domain.tls.status], ["pending", "none"]);
  assert.equal((await waypost.domains.update(domain.id, { root_url: WEBSITE })).root_url, WEBSITE);
  assert.equal((await waypost.domains.update(domain.id, { root_url: null })).root_url, null);
  assert.equal((await waypost.domains.verify(domain.id)).status, "verifying");
  const documents = await waypost.domains.setAppLinks(domain.id, {
    apple_app_site_association: { webcredentials: { apps: ["A1B2C3D4E5.com.example"] } },
  });
  assert.deepEqual(await waypost.domains.getAppLinks(domain.id), documents);
  const link = await waypost.links.create({ destination_url: WEBSITE, hostname: domain.hostname });
  const alias = await waypost.links.createAlias(link.id, { hostname: domain.hostname, path: "a path/with slashes" });
  assert.deepEqual(await all(waypost.links.listAliases(link.id)), [alias]);
  await waypost.links.deleteAlias(link.id, alias.id);
  assert.deepEqual(await all(waypost.links.listAliases(link.id)), []);
  const conditions = [{ type: "schedule", weekdays: [5], from: "18:00", to: "23:00", timezone: "UTC" }];
  const routing = await waypost.links.setRouting(link.id, {
    rules: [{ name: "Evening", destination_url: WEBSITE, conditions }],
    variants: [{ name: "B", destination_url: WEBSITE, weight: 50 }],
    password: "secret",
    starts_at: new Date("2020-01-01T00:00:00Z"),
  });
  assert.deepEqual([routing.has_password, routing.rules[0].conditions[0].from], [true, "18:00"]);
  const rules = [...routing.rules, { ...routing.rules[0], name: "Night" }];
  const again = await waypost.links.setRouting(link.id, { rules, variants: routing.variants });
  assert.deepEqual([again.rules.map((each) => each.name), again.has_password], [["Evening", "Night"], true]);
  assert.deepEqual(await waypost.links.getRouting(link.id), again);
  await waypost.links.deleteRouting(link.id);
  assert.deepEqual((await waypost.links.getRouting(link.id)).rules, []);
  await waypost.domains.delete(domain.id);
  assert.ok(!(await all(waypost.domains.list())).some((each) => each.id === domain.id));
});

test("pixels", async () => {
  const waypost = newClient();
  const pixel = await waypost.pixels.create({ platform: "facebook", name: "Spring", pixel_id: "1234567890" });
  assert.deepEqual(await waypost.pixels.get(pixel.id), pixel);
  assert.equal((await waypost.pixels.update(pixel.id, { name: "Summer", access_token: null })).name, "Summer");
  assert.equal((await waypost.pixels.results(pixel.id)).sent, 0);
  assert.deepEqual((await all(waypost.pixels.list())).map((each) => each.platform), ["facebook"]);
  await waypost.pixels.delete(pixel.id);
});

test("webhooks", async () => {
  const waypost = newClient();
  const webhook = await waypost.webhooks.create({ url: "https://127.0.0.1/hook", event_types: ["link.created"] });
  assert.match(webhook.secret, /^whsec_/);
  assert.equal((await waypost.webhooks.get(webhook.id)).url, webhook.url);
  assert.deepEqual((await all(waypost.webhooks.list())).map((each) => each.id), [webhook.id]);
  const delivery = await waypost.webhooks.sendTest(webhook.id);
  assert.equal(delivery.event, "webhook.test");
  const found = await all(waypost.webhooks.listDeliveries(webhook.id, { event: "webhook.test" }));
  assert.deepEqual(found.map((each) => each.id), [delivery.id]);
  assert.equal((await waypost.webhooks.redeliver(webhook.id, delivery.id)).id, delivery.id);
  await waypost.webhooks.delete(webhook.id);
});

test("QR codes", async () => {
  const waypost = newClient();
  const link = await waypost.links.create({ destination_url: WEBSITE });
  const code = await waypost.qrcodes.setStyle(link.id, { foreground: "#1d3557", style: "dots" });
  assert.deepEqual(await waypost.qrcodes.get(link.id), code);
  assert.deepEqual([...(await waypost.qrcodes.image(code.image_url)).slice(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
  assert.match(new TextDecoder().decode(await waypost.qrcodes.image(code.svg_url)), /<svg/);
  await assert.rejects(waypost.qrcodes.image(`${code.image_url}0`), Forbidden);
  await assert.rejects(waypost.qrcodes.image(link.id), /not the URL of an image/);
});

test("account, keys, clicks and statistics", async () => {
  const waypost = newClient();
  const me = await waypost.account.get();
  assert.deepEqual([me.plan.type, me.limits.requests_per_minute], ["lifetime", 60]);
  assert.ok((await waypost.keys.list()).some((key) => key.id === me.token.id));
  const link = await waypost.links.create({ destination_url: WEBSITE });
  await fetch(`${SERVICE}/${link.slug}`, { headers: { "User-Agent": BROWSER }, redirect: "manual" });
  await eventually(async () => (await all(waypost.links.clicks(link.id))).length === 1);
  const from = new Date(Date.now() - 3_600_000);
  const [click] = await all(waypost.clicks.list({ link_id: link.id, from, browser: "Firefox" }));
  assert.deepEqual([click.link_id, click.device, click.kind], [link.id, "desktop", "human"]);
  const stats = await waypost.links.stats(link.id, { interval: "hour", from });
  assert.deepEqual([stats.clicks, stats.browsers[0].value], [1, "Firefox"]);
  assert.ok((await waypost.stats.get()).top_links[0].clicks >= 1);
  const found = await waypost.request("GET", "/links", { query: { search: link.slug } });
  assert.equal(found.meta.total, 1);
  const made = await waypost.request("POST", "links", { body: { destination_url: WEBSITE }, idempotencyKey: RUN });
  assert.deepEqual(await waypost.links.create({ destination_url: WEBSITE }, { idempotencyKey: RUN }), made.data);
});

test("calls at the same time share a client", async () => {
  const waypost = newClient();
  const made = await Promise.all(Array.from({ length: 8 }, () => waypost.links.create({ destination_url: WEBSITE })));
  assert.equal(new Set(made.map((each) => each.id)).size, 8);
  const pages = await all(waypost.links.list({ per_page: 5, search: made[0].slug }).pages());
  assert.deepEqual(pages.map((page) => page.meta.total), [1]);
});

test("an iteration that ends early reads no further", async () => {
  const waypost = newClient();
  await waypost.links.bulkCreate(Array.from({ length: 4 }, () => ({ destination_url: WEBSITE, tags: [`early ${RUN}`] })));
  const asked = [];
  const counting = newClient({ fetch: (url, init) => (asked.push(String(url)), fetch(url, init)) });
  const links = counting.links.list({ tag: `early ${RUN}`, per_page: 2 });
  assert.equal(asked.length, 0);
  let count = 0;
  for await (const _ of links) {
    count += 1;
    if (count === 2) {
      break;
    }
  }
  assert.deepEqual([count, asked.length], [2, 1]);
  assert.equal((await all(links)).length, 4);
});

test("refuses what the service refuses", async () => {
  const waypost = newClient();
  await assert.rejects(
    waypost.links.create({ destination_url: "ftp://example.com", slug: "a b" }),
    (error) =>
      error instanceof ValidationError &&
      error.message.includes("slug: ") &&
      Object.keys(error.errors).sort().join() === "destination_url,slug",
  );
  await assert.rejects(
    waypost.domains.create({ hostname: "localhost" }),
    (error) => error instanceof ValidationError && error.status === 406 && Object.keys(error.errors).join() === "hostname",
  );
});

// What needs no service: lists that change while they are read, signatures, arguments.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { inspect } from "node:util";

import { ServerError, SignatureError, UnexpectedResponse, verifyWebhook, Waypost } from "@waypost/client";

import { Attempts, parseRetryAfter } from "./node_modules/@waypost/client/dist/attempts.js";
import { all, newClientOf } from "./support.mjs";

// ---- lists

/** Pixels, newest first, in pages. */
class List {
  asked = [];

  constructor(count) {
    this.ids = Array.from({ length: count }, (_, number) => String(number));
  }

  respond = async (request) => {
    const { searchParams } = new URL(request.url);
    const [page, size] = [Number(searchParams.get("page")), Number(searchParams.get("per_page"))];
    this.asked.push(page);
    const data = this.ids.slice((page - 1) * size, page * size).map((id) => ({ id }));
    const last = Math.max(1, Math.ceil(this.ids.length / size));
    return Response.json({ data, meta: { current_page: page, last_page: last, per_page: size, total: this.ids.length } });
  };

  async read(query, onEach = () => undefined) {
    const found = [];
    for await (const { id } of newClientOf(this.respond).pixels.list(query)) {
      found.push(id);
      onEach(id);
    }
    return found;
  }

  remove(id) {
    this.ids.splice(this.ids.indexOf(id), 1);
  }
}

const numbers = (count) => Array.from({ length: count }, (_, number) => String(number));

test("reads all pages and no more", async () => {
  const pixels = new List(7);
  assert.deepEqual(await pixels.read({ per_page: 3 }), pixels.ids);
  assert.deepEqual(pixels.asked, [1, 2, 3]);
  assert.deepEqual([await new List(0).read(), await new List(3).read({ per_page: 3 })], [[], numbers(3)]);
  assert.deepEqual(await new List(7).read({ per_page: 3, page: 2 }), ["3", "4", "5", "6"]);
});

test("what is deleted meanwhile leaves nothing out", async () => {
  for (const size of [1, 2, 3, 10]) {
    const pixels = new List(23);
    assert.deepEqual(await pixels.read({ per_page: size }, (id) => pixels.remove(id)), numbers(23));
    assert.deepEqual(pixels.ids, []);
  }
  const some = new List(50);
  assert.deepEqual(await some.read({ per_page: 4 }, (id) => Number(id) % 3 || some.remove(id)), numbers(50));
});

test("what is added meanwhile returns nothing twice", async () => {
  const pixels = new List(9);
  const added = ["new 1", "new 2", "new 3"];
  const found = await pixels.read({ per_page: 2 }, () => added.length > 0 && pixels.ids.unshift(added.shift()));
  assert.deepEqual(found.slice(0, 9), numbers(9));
});

test("pages have the position", async () => {
  const pages = await all(newClientOf(new List(7).respond).pixels.list({ per_page: 3 }).pages());
  assert.deepEqual(pages.map(({ meta, data }) => [meta.current_page, meta.total, data.length]), [
    [1, 7, 3],
    [2, 7, 3],
    [3, 7, 1],
  ]);
});

// ---- signatures

const SECRET = "whsec_secret";
const TEST = {
  id: "01a1fbb2-9c42-7c11-b0d5-6a7e8f901234",
  api_version: "v1",
  event: "webhook.test",
  created_at: "2026-11-20T02:56:16+00:00",
  data: { webhook_id: "01a1fbb2-9c42-7c11-b0d5-6a7e8f901235" },
};
const BODY = JSON.stringify({ ...TEST, more: "ä" });
const now = () => Math.floor(Date.now() / 1000);

function signed(body = BODY, { at = now(), secret = SECRET } = {}) {
  return `t=${at},v1=${createHmac("sha256", secret).update(`${at}.`).update(body).digest("hex")}`;
}

test("takes headers as frameworks have them", async () => {
  const value = signed();
  for (const headers of [
    new Headers({ "X-Signature": value }),
    { "x-signature": value, host: "a", accept: undefined },
    { "X-SIGNATURE": [value], Accept: ["a", "b"] },
    [["Host", "a"], ["X-Signature", value]],
    new Map([["X-Signature", value]]),
  ]) {
    assert.deepEqual((await verifyWebhook(BODY, headers, SECRET)).data, TEST.data);
  }
});

test("takes text and bytes of each kind", async () => {
  const bytes = Buffer.from(`..${BODY}`).subarray(2);
  const buffer = new Uint8Array(bytes).buffer;
  for (const body of [BODY, bytes, new Uint8Array(bytes), buffer]) {
    assert.equal((await verifyWebhook(body, { "x-signature": signed() }, SECRET)).event, "webhook.test");
  }
});

test("returns an event of an unknown type", async () => {
  const body = JSON.stringify({ ...TEST, event: "link.moved", data: { a: 1 } });
  const event = await verifyWebhook(body, { "x-signature": signed(body) }, SECRET);
  assert.deepEqual([event.event, event.data], ["link.moved", { a: 1 }]);
});

test("refuses what was changed", async () => {
  const value = signed();
  for (const [body, headers, secret] of [
    [BODY, value.replace("t=", "t=1"), SECRET],
    [BODY, value.slice(0, -1) + (value.endsWith("0") ? "1" : "0"), SECRET],
    [`${BODY} `, value, SECRET],
    [BODY, value, "whsec_other"],
  ]) {
    await assert.rejects(
      verifyWebhook(body, { "x-signature": headers }, secret),
      (error) => error instanceof SignatureError && /does not match/.test(error.message),
    );
  }
});

test("refuses malformed, missing and repeated signatures", async () => {
  const long = "a".repeat(64);
  for (const value of ["", "t=1", `v1=${long}`, `t=x,v1=${long}`, `t=1,v1=${long.toUpperCase()}`, `t=\u0661,v1=${long}`]) {
    await assert.rejects(verifyWebhook(BODY, { "X-Signature": value }, SECRET), /malformed/);
  }
  const value = signed();
  for (const headers of [{}, { "X-Signature": [value, value] }, [["x-signature", value], ["X-Signature", value]]]) {
    await assert.rejects(verifyWebhook(BODY, headers, SECRET), /needs one X-Signature/);
  }
});

test("refuses a clock that is ten minutes off", async () => {
  for (const seconds of [-600, 600]) {
    const headers = { "X-Signature": signed(BODY, { at: now() + seconds }) };
    await assert.rejects(verifyWebhook(BODY, headers, SECRET), /more than 300 seconds/);
    assert.equal((await verifyWebhook(BODY, headers, SECRET, { tolerance: 700 })).event, "webhook.test");
  }
});

const STANDARD_SECRET = `whsec_${Buffer.from([...Array(32).keys()]).toString("base64")}`;

function standard(body = BODY, { at = now() } = {}) {
  const key = Buffer.from(STANDARD_SECRET.slice(6), "base64");
  const signature = createHmac("sha256", key).update(`msg_1.${at}.`).update(body).digest("base64");
  return { "webhook-id": "msg_1", "Webhook-Timestamp": `${at}`, "WEBHOOK-SIGNATURE": `v1a,x v1,AAAA v1,${signature}` };
}

test("takes the headers of Standard Webhooks", async () => {
  assert.equal((await verifyWebhook(BODY, standard(), STANDARD_SECRET)).event, "webhook.test");
  const both = { ...standard(), "X-Signature": signed(BODY, { secret: STANDARD_SECRET }) };
  assert.equal((await verifyWebhook(BODY, both, STANDARD_SECRET)).event, "webhook.test");
  await assert.rejects(verifyWebhook(BODY, { ...both, "X-Signature": signed("") }, STANDARD_SECRET), /does not match/);
});

test("refuses other headers of Standard Webhooks", async () => {
  for (const [change, problem] of [
    [{ "webhook-id": "msg_2" }, /does not match/],
    [{ "WEBHOOK-SIGNATURE": `v1,${"A".repeat(43)}=` }, /does not match/],
    [{ "WEBHOOK-SIGNATURE": "v1,A" }, /malformed/],
    [{ "WEBHOOK-SIGNATURE": "" }, /malformed/],
    [{ "Webhook-Timestamp": "now" }, /malformed/],
    [{ "Webhook-Timestamp": [] }, /needs one Webhook-Timestamp header, and has 0/],
    [{ "webhook-id": ["a", "b"] }, /needs one Webhook-Id header, and has 2/],
  ]) {
    await assert.rejects(verifyWebhook(BODY, { ...standard(), ...change }, STANDARD_SECRET), problem);
  }
  await assert.rejects(verifyWebhook(BODY, standard(BODY, { at: now() - 310 }), STANDARD_SECRET), /more than 300/);
  for (const secret of ["whsec_", `whsec_${"A".repeat(43)}`, `whsec_${"-".repeat(43)}=`]) {
    await assert.rejects(verifyWebhook(BODY, standard(), secret), /older than Standard Webhooks/);
  }
});

test("refuses wrong arguments and signed bodies that are no events", async () => {
  await assert.rejects(verifyWebhook(JSON.parse(BODY), { "x-signature": signed() }, SECRET), /raw body/);
  await assert.rejects(verifyWebhook(BODY, { "x-signature": signed() }, ""), /secret/);
  await assert.rejects(verifyWebhook(BODY, { "x-signature": signed() }, undefined), /secret/);
  for (const body of ["", "null", "{}", "[]", Buffer.from([0xff])]) {
    await assert.rejects(verifyWebhook(body, { "x-signature": signed(body) }, SECRET), /not an event/);
  }
});

// ---- arguments

test("refuses wrong options, without showing the key", () => {
  const apiKey = "wp_live_key";
  for (const baseUrl of ["", "go.example.com", "ftp://a.b", "https://a.b/path", "https://a:b@c.d", "https://a.b/?c", undefined]) {
    assert.throws(() => new Waypost({ baseUrl, apiKey }), /baseUrl is the origin/);
  }
  for (const key of ["", " ", undefined, "a b", "ü", "a\nb"]) {
    assert.throws(() => new Waypost({ baseUrl: "https://a.b", apiKey: key }), /needs an API key/);
  }
  for (const timeout of [0, -1, Number.NaN]) {
    assert.throws(() => new Waypost({ baseUrl: "https://a.b", apiKey, timeout }), /timeout/);
  }
  const waypost = new Waypost({ baseUrl: "https://go.example.com/ ", apiKey: `${apiKey}\n`, timeout: Infinity });
  assert.ok(!inspect(waypost, { depth: 9, showHidden: true }).includes(apiKey));
  assert.ok(!JSON.stringify(waypost).includes(apiKey));
});

test("refuses arguments that would do something else", async () => {
  const sent = [];
  const waypost = newClientOf((request) => (sent.push(request), Response.json({ data: {} })));
  for (const id of ["", ".", "..", undefined, null]) {
    await assert.rejects(waypost.links.delete(id), /An ID must be/);
    await assert.rejects(all(waypost.links.clicks(id)), /An ID must be/);
  }
  await assert.rejects(waypost.links.update("a", { expires_at: new Date(Number.NaN) }), /expires_at is not a valid time/);
  await assert.rejects(waypost.links.setRouting("a", { click_limit: Number.NaN }), /click_limit is not a valid value/);
  await assert.rejects(waypost.links.stats("a", { from: new Date(Number.NaN) }), /from is not a valid time/);
  await assert.rejects(waypost.links.create({}, { idempotencyKey: "a\nb" }), TypeError);
  assert.equal(sent.length, 0);
  await waypost.links.get("a/../b?c=d");
  assert.equal(new URL(sent[0].url).pathname, "/api/v1/links/a%2F..%2Fb%3Fc%3Dd");
});

test("sends no key to the host of an image", async () => {
  const sent = [];
  const waypost = newClientOf((request) => (sent.push(request), new Response("image")));
  await waypost.qrcodes.image("https://other.example.com/image");
  assert.equal(sent[0].headers.get("Authorization"), null);
  assert.match(sent[0].headers.get("User-Agent"), /^waypost-client-typescript\/\d/);
});

test("an answer of another shape is unexpected", async () => {
  for (const body of ["null", "[]", "1", "{}", '{"data": {}}', ""]) {
    const waypost = newClientOf(() => new Response(body, { headers: { "Content-Type": "application/json" } }));
    await assert.rejects(all(waypost.links.list()), UnexpectedResponse);
    if (!body.includes("data")) {
      await assert.rejects(waypost.links.get("a"), UnexpectedResponse);
    }
  }
  const broken = newClientOf(() => new Response("<html>", { status: 500, statusText: "Oh" }), { retries: 0 });
  await assert.rejects(broken.links.get("a"), (error) => {
    assert.ok(error instanceof ServerError);
    assert.deepEqual([String(error), error.status], ["ServerError: The service answered 500 Oh.", 500]);
    return true;
  });
});

test("waits as long as Retry-After says, and no longer than a minute", () => {
  assert.deepEqual(["7", " 0 ", "soon", null].map(parseRetryAfter), [7, 0, undefined, undefined]);
  const inOneMinute = parseRetryAfter(new Date(Date.now() + 60_000).toUTCString());
  assert.ok(inOneMinute > 57 && inOneMinute <= 60);
  assert.equal(parseRetryAfter("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
  const attempts = new Attempts(3);
  assert.deepEqual([attempts.wait(25), attempts.wait(25), attempts.wait(25), attempts.wait(10)], [25, 25, undefined, 10]);
});

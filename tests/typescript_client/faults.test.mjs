// The client against the real service, through a proxy that fails.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  ConnectionFailed,
  NotFound,
  RateLimited,
  ServerError,
  Unauthenticated,
  UnexpectedResponse,
  Waypost,
} from "@waypost/client";

import { clock } from "./node_modules/@waypost/client/dist/attempts.js";
import { all, newClient, newFaultyClient, PROXY, RUN, WEBSITE } from "./support.mjs";

const sleep = clock.sleep;

test("creates one link despite each fault", async () => {
  const { waypost, faults, sent, waits } = newFaultyClient();
  for (const fault of ["drop before", "drop after", "half", "503", "429", "502"]) {
    sent.length = waits.length = 0;
    faults.push(fault);
    const link = await waypost.links.create({ destination_url: WEBSITE, tags: [`${fault} ${RUN}`] });
    assert.equal(sent[0].headers.get("Idempotency-Key"), sent[1].headers.get("Idempotency-Key"), fault);
    assert.deepEqual([sent[0].body, sent.length, waits.length], [sent[1].body, 2, 1], fault);
    assert.ok(["503", "429"].includes(fault) ? waits[0] === 7 : waits[0] >= 0.375 && waits[0] <= 0.625, fault);
    assert.deepEqual((await all(waypost.links.list({ tag: `${fault} ${RUN}` }))).map((each) => each.id), [link.id]);
  }
});

test("uploads one image despite a fault", async () => {
  const { waypost, faults } = newFaultyClient();
  faults.push("drop after");
  const image = new Blob([Buffer.from("R0lGODlhAQABAIAAAAUEBAAAACwAAAAAAQABAAACAkQBADs=", "base64")]);
  const link = await waypost.links.create({ destination_url: WEBSITE, tags: [`upload ${RUN}`], og_image_file: image });
  assert.deepEqual((await all(waypost.links.list({ tag: `upload ${RUN}` }))).map((each) => each.id), [link.id]);
});

test("changes and deletes despite a fault", async () => {
  const { waypost, faults } = newFaultyClient();
  for (const fault of ["drop before", "drop after", "half"]) {
    const link = await waypost.links.create({ destination_url: WEBSITE });
    faults.push(fault);
    assert.equal((await waypost.links.update(link.id, { title: "Changed" })).title, "Changed");
    faults.push(fault);
    assert.equal((await waypost.links.get(link.id)).title, "Changed");
    faults.push(fault === "half" ? "drop after" : fault); // a 204 has no half
    assert.equal(await waypost.links.delete(link.id), undefined);
    await assert.rejects(waypost.links.delete(link.id), NotFound);
  }
});

test("gives up after three retries", async () => {
  const { waypost, faults, sent, waits } = newFaultyClient();
  faults.push(...Array(4).fill("drop before"));
  await assert.rejects(waypost.account.get(), (error) => {
    assert.ok(error instanceof ConnectionFailed);
    assert.ok(error.message.startsWith(`GET ${PROXY}/api/v1/me failed: `), error.message);
    assert.ok(error.cause instanceof Error);
    return true;
  });
  assert.equal(sent.length, 4);
  assert.deepEqual(waits, waits.toSorted((a, b) => a - b));
  faults.push(...Array(4).fill("503"));
  await assert.rejects(waypost.account.get(), (error) => error instanceof ServerError && error.retryAfter === 7);
});

test("does not send again without retries", async () => {
  const { waypost, faults, sent } = newFaultyClient({ retries: 0 });
  faults.push("429");
  await assert.rejects(waypost.account.get(), (error) => error instanceof RateLimited && error.retryAfter === 7);
  assert.equal(sent.length, 1);
});

test("a response that does not come is a fault", async () => {
  const { waypost, faults, sent } = newFaultyClient({ timeout: 3000 });
  faults.push("slow");
  assert.equal((await waypost.account.get()).plan.type, "lifetime");
  assert.equal(sent.length, 2);
  faults.push(...Array(4).fill("slow"));
  await assert.rejects(waypost.account.get({ timeout: 20 }), /no complete response within 20 ms/);
});

test("another server gets a clear error", async () => {
  const { waypost, faults } = newFaultyClient();
  for (const [fault, text] of [
    ["page", /got 200 OK with a page \(text\/html\).*Check baseUrl/],
    ["redirect", /a redirect to https:\/\/go\.example\.com\/api\/v1\/me.*Check baseUrl/],
    ["not json", /not a response of Waypost/],
  ]) {
    faults.push(fault);
    await assert.rejects(waypost.account.get(), (error) => error instanceof UnexpectedResponse && text.test(error.message));
  }
  const elsewhere = new Waypost({ baseUrl: WEBSITE, apiKey: "wp_live_key" });
  await assert.rejects(elsewhere.account.get(), /Check baseUrl/);
});

test("names a service that is unreachable, or has no TLS", async () => {
  const options = { apiKey: "wp_live_key", retries: 0 };
  const closed = new Waypost({ baseUrl: "http://127.0.0.1:1", ...options });
  await assert.rejects(closed.account.get(), /GET http:\/\/127\.0\.0\.1:1\/api\/v1\/me failed: ./);
  const secure = new Waypost({ baseUrl: PROXY.replace("http:", "https:"), ...options });
  await assert.rejects(secure.account.get(), (error) => error instanceof ConnectionFailed);
});

test("a wrong key has an error of its own", async () => {
  const stranger = newClient({ apiKey: "wp_live_wrong" });
  await assert.rejects(
    stranger.account.get(),
    (error) => error instanceof Unauthenticated && error.status === 401 && error.code === "unauthenticated",
  );
});

test("a call is cancelled at each stage", async () => {
  const { waypost, faults, sent } = newFaultyClient({ timeout: 30_000 });
  const early = AbortSignal.abort();
  await assert.rejects(waypost.account.get({ signal: early }), { name: "AbortError" });
  assert.equal(sent.length, 0);
  const during = new AbortController();
  faults.push("slow");
  const reading = waypost.account.get({ signal: during.signal });
  setTimeout(() => during.abort(new Error("enough")), 50);
  await assert.rejects(reading, { message: "enough" });
  assert.equal(sent.length, 1);
  clock.sleep = sleep;
  const waiting = new AbortController();
  faults.push("503");
  const patient = waypost.account.get({ signal: waiting.signal });
  setTimeout(() => waiting.abort(), 50);
  await assert.rejects(patient, { name: "AbortError" });
  assert.equal((await waypost.account.get()).plan.type, "lifetime");
});

test("an iteration is cancelled by its signal", async () => {
  const waypost = newClient();
  await waypost.links.bulkCreate(Array.from({ length: 3 }, () => ({ destination_url: WEBSITE, tags: [`cancel ${RUN}`] })));
  const controller = new AbortController();
  await assert.rejects(async () => {
    for await (const _ of waypost.links.list({ tag: `cancel ${RUN}`, per_page: 1 }, { signal: controller.signal })) {
      controller.abort();
    }
  }, { name: "AbortError" });
});

// Code by Zapier → Run JavaScript, after Webhooks by Zapier → Catch Raw Hook. It stops the Zap unless Waypost has
// sent the delivery within the last five minutes. Input Data:
//   body       Raw Body
//   signature  Headers Http X Signature
//   secret     the signing secret of the webhook (whsec_…)
const { createHmac, timingSafeEqual } = require("crypto");

const { body, signature, secret } = inputData;
const found = /^t=([0-9]{1,12}),v1=([0-9a-f]{64})$/.exec(signature ?? "");
if (!secret || !found) throw new Error("The delivery has no signature, or the secret is missing.");
const [, t, v1] = found;
const expected = createHmac("sha256", secret).update(`${t}.${body}`).digest();
if (!timingSafeEqual(expected, Buffer.from(v1, "hex"))) throw new Error("The signature is not from this webhook.");
if (Math.abs(Date.now() / 1000 - Number(t)) > 300) throw new Error("The delivery is more than five minutes old.");
return JSON.parse(body);

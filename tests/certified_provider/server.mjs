// node server.mjs SETTINGS: the certified provider, with the clients and users of a JSON file that is read again for
// each sign-in. Prints its issuer when it is ready. Any password is right.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const read = () => JSON.parse(readFileSync(process.argv[2], "utf8"));
const { clients } = read();

async function grantEverything(ctx) {
  const { client, session } = ctx.oidc;
  const existing = session.grantIdFor(client.clientId);
  if (existing) return ctx.oidc.provider.Grant.find(existing);
  const grant = new ctx.oidc.provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope("openid email profile");
  await grant.save();
  return grant;
}

const configuration = {
  clients,
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
  cookies: { keys: ["a key of the tests"] },
  features: {
    devInteractions: { enabled: true },
    backchannelLogout: { enabled: true },
    rpInitiatedLogout: { enabled: true },
  },
  pkce: { methods: ["S256"], required: () => true },
  ttl: { Session: 3600, Grant: 3600, AccessToken: 600, IdToken: 600, Interaction: 600 },
  loadExistingGrant: grantEverything,
  findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...read().users[id] }) }),
};

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  server.on("request", new Provider(issuer, configuration).callback());
  console.log(issuer);
});

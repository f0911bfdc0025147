// Runs a node of integrations/n8n-nodes-waypost as n8n does: reads `given` from stdin, writes what it returned to stdout.
const { readFileSync } = require("node:fs");
const { join } = require("node:path");

const given = JSON.parse(readFileSync(0));
const load = (file) => Object.values(require(join(given.package, file)))[0];
const { credentials: [credentialFile], nodes } = require(join(given.package, "package.json")).n8n;
const node = new (load(nodes.find((file) => file.endsWith(`/${given.node}.node.js`))))();
const credential = new (load(credentialFile))();
const staticData = given.static ?? {};

// what n8n evaluates of the expressions of the credential
const evaluate = (text) => text.replace(/^=/, "").replace("{{$credentials.apiKey}}", given.credentials.apiKey);

async function httpRequestWithAuthentication(name, { url, qs, body, method, headers, ...options }) {
  if (name !== credential.name || !options.ignoreHttpStatusErrors || !options.returnFullResponse) throw new Error("unexpected");
  const query = qs ? `?${new URLSearchParams(qs)}` : "";
  const own = Object.entries(credential.authenticate.properties.headers).map(([key, value]) => [key, evaluate(value)]);
  const response = await fetch(url + query, {
    method,
    redirect: "manual",
    headers: { ...headers, ...Object.fromEntries(own), ...(body && { "Content-Type": "application/json" }) },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  const isJson = (response.headers.get("content-type") ?? "").includes("json");
  return { statusCode: response.status, body: isJson ? JSON.parse(text) : text };
}

const context = (parameters) => ({
  getInputData: () => given.items ?? [{ json: {} }],
  getNodeParameter: (name, itemIndex) => {
    const of = Array.isArray(parameters) ? parameters[itemIndex] : parameters;
    const found = of[name] ?? node.description.properties.find((each) => each.name === name)?.default;
    if (found === undefined) throw new Error(`no parameter ${name}`);
    return found;
  },
  getCredentials: async () => given.credentials,
  getNode: () => ({ name: given.node, type: node.description.name, parameters: {} }),
  getWorkflow: () => ({ id: "w1" }),
  getExecutionId: () => given.execution ?? "1",
  continueOnFail: () => given.continueOnFail ?? false,
  getWorkflowStaticData: () => staticData,
  getNodeWebhookUrl: () => given.url,
  getHeaderData: () => given.request.headers,
  getRequestObject: () => ({ rawBody: Buffer.from(given.request.body) }),
  getResponseObject: () => ({ status: (code) => ({ send: (text) => (answer = [code, text]) }) }),
  helpers: { httpRequestWithAuthentication, returnJsonArray: (json) => [{ json }] },
});

let answer = null;
const steps = {
  execute: async () => (await node.execute.call(context(given.parameters)))[0],
  webhook: () => node.webhook.call(context(given.parameters)),
};
for (const name of ["checkExists", "create", "delete"]) {
  steps[name] = () => node.webhookMethods.default[name].call(context(given.parameters));
}

(async () => {
  const results = [];
  for (const step of given.steps) {
    const { name, message, description } = await steps[step]().then((result) => results.push(result) && {}, (error) => error);
    if (message) results.push({ error: { name, message, description } });
  }
  console.log(JSON.stringify({ results, static: staticData, answer }));
})();

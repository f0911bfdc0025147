import { createHmac, timingSafeEqual } from "node:crypto";
import type {
  IDataObject,
  IHookFunctions,
  INodeType,
  INodeTypeDescription,
  IWebhookFunctions,
  IWebhookResponseData,
} from "n8n-workflow";
import { NodeConnectionTypes } from "n8n-workflow";

import { send } from "../request";

const TOLERANCE = 300; // seconds between the time of a signature and the clock of this machine

export class WaypostTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: "Waypost Trigger",
    name: "waypostTrigger",
    icon: { light: "file:../../icons/waypost.svg", dark: "file:../../icons/waypost.dark.svg" },
    group: ["trigger"],
    version: 1,
    subtitle: '={{$parameter["events"].join(", ")}}',
    description: "Starts the workflow when a link is created or clicked",
    defaults: { name: "Waypost Trigger" },
    inputs: [],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: "waypostApi", required: true }],
    webhooks: [{ name: "default", httpMethod: "POST", responseMode: "onReceived", path: "webhook" }],
    properties: [
      {
        displayName: "Events",
        name: "events",
        type: "multiOptions",
        options: [
          { name: "Link Clicked", value: "link.clicked" },
          { name: "Link Created", value: "link.created" },
          { name: "Pixel Fired", value: "pixel.fired" },
        ],
        default: ["link.created"],
        required: true,
      },
    ],
  };

  webhookMethods = {
    default: {
      /** A webhook whose secret is not known here cannot be used: Waypost shows it once. */
      async checkExists(this: IHookFunctions): Promise<boolean> {
        const { webhookId, secret, events } = this.getWorkflowStaticData("node");
        if (!webhookId || !secret || events !== chosenEvents(this).join()) {
          return false;
        }
        const found = (await send(this, { method: "GET", path: `/webhooks/${webhookId}` }, { accepted: [404] }))?.data;
        return (found as IDataObject | undefined)?.url === this.getNodeWebhookUrl("default");
      },

      async create(this: IHookFunctions): Promise<boolean> {
        const url = this.getNodeWebhookUrl("default");
        const list = (await send(this, { method: "GET", path: "/webhooks" }))?.data as IDataObject[];
        for (const { id } of list.filter((webhook) => webhook.url === url)) {
          await send(this, { method: "DELETE", path: `/webhooks/${id}` }, { accepted: [404] });
        }
        const events = chosenEvents(this);
        const body = { url, event_types: events };
        const created = (await send(this, { method: "POST", path: "/webhooks", body }))?.data as IDataObject;
        const known = { webhookId: created.id, secret: created.secret, events: events.join() };
        Object.assign(this.getWorkflowStaticData("node"), known);
        return true;
      },

      async delete(this: IHookFunctions): Promise<boolean> {
        const data = this.getWorkflowStaticData("node");
        if (data.webhookId) {
          await send(this, { method: "DELETE", path: `/webhooks/${data.webhookId}` }, { accepted: [404] });
        }
        for (const name of ["webhookId", "secret", "events"]) {
          delete data[name];
        }
        return true;
      },
    },
  };

  async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
    const { secret } = this.getWorkflowStaticData("node");
    const { rawBody } = this.getRequestObject();
    const signature = this.getHeaderData()["x-signature"];
    if (!isGenuine(String(signature ?? ""), rawBody, String(secret ?? ""))) {
      this.getResponseObject().status(401).send("The signature is wrong or too old.");
      return { noWebhookResponse: true };
    }
    return { workflowData: [this.helpers.returnJsonArray(JSON.parse(rawBody.toString()) as IDataObject)] };
  }
}

function chosenEvents(context: IHookFunctions): string[] {
  return [...(context.getNodeParameter("events") as string[])].sort();
}

/** The signature is over the bytes that were sent: JSON that is parsed and written again has others. */
function isGenuine(signature: string, body: Buffer | undefined, secret: string): boolean {
  const [, time, digest] = /^t=([0-9]{1,12}),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
  if (!body || !secret || !time || !digest || Math.abs(Date.now() / 1000 - Number(time)) > TOLERANCE) {
    return false;
  }
  const expected = createHmac("sha256", secret).update(`${time}.`).update(body).digest();
  return timingSafeEqual(expected, Buffer.from(digest, "hex"));
}

import { createHash } from "node:crypto";
import type {
  IDataObject,
  IExecuteFunctions,
  INodeExecutionData,
  INodeType,
  INodeTypeDescription,
} from "n8n-workflow";
import { NodeApiError, NodeConnectionTypes, NodeOperationError } from "n8n-workflow";

import { type ApiRequest, send } from "../request";
import { linkFields, linkOperations, statisticsFields } from "./fields";

const PER_PAGE = 100;

export class Waypost implements INodeType {
  description: INodeTypeDescription = {
    displayName: "Waypost",
    name: "waypost",
    icon: { light: "file:../../icons/waypost.svg", dark: "file:../../icons/waypost.dark.svg" },
    group: ["output"],
    version: 1,
    subtitle: '={{$parameter["operation"] + ": " + $parameter["resource"]}}',
    description: "Create short links and read their statistics",
    defaults: { name: "Waypost" },
    usableAsTool: true,
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: "waypostApi", required: true }],
    properties: [
      {
        displayName: "Resource",
        name: "resource",
        type: "options",
        noDataExpression: true,
        options: [
          { name: "Link", value: "link" },
          { name: "Statistic", value: "statistic" },
        ],
        default: "link",
      },
      linkOperations,
      ...linkFields,
      ...statisticsFields,
    ],
  };

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    const results: INodeExecutionData[] = [];
    for (const itemIndex of this.getInputData().keys()) {
      try {
        for (const json of await run(this, itemIndex)) {
          results.push({ json, pairedItem: { item: itemIndex } });
        }
      } catch (error) {
        if (!this.continueOnFail()) {
          throw error instanceof NodeApiError ? error : new NodeOperationError(this.getNode(), error as Error, { itemIndex });
        }
        results.push({ json: { error: (error as Error).message }, pairedItem: { item: itemIndex } });
      }
    }
    return [results];
  }
}

async function run(context: IExecuteFunctions, itemIndex: number): Promise<IDataObject[]> {
  const text = (name: string) => encodeURIComponent(String(context.getNodeParameter(name, itemIndex)).trim());
  const request = async (request: ApiRequest) => (await send(context, request, { itemIndex }))?.data as IDataObject;
  switch (`${context.getNodeParameter("resource", itemIndex)} ${context.getNodeParameter("operation", itemIndex)}`) {
    case "link create": {
      const body = readLink(context, itemIndex);
      const headers = { "Idempotency-Key": idempotencyKey(context, itemIndex, body) };
      return [await request({ method: "POST", path: "/links", body, headers })];
    }
    case "link upsert": {
      const body = readLink(context, itemIndex);
      return [await request({ method: "PUT", path: `/links/by-external-id/${text("externalId")}`, body })];
    }
    case "link update": {
      const body = toJson(context.getNodeParameter("changes", itemIndex) as IDataObject);
      return [await request({ method: "PATCH", path: `/links/${text("linkId")}`, body })];
    }
    case "link get":
      return [await request({ method: "GET", path: `/links/${text("linkId")}` })];
    case "link delete":
      await request({ method: "DELETE", path: `/links/${text("linkId")}` });
      return [{ deleted: true }];
    case "link getAll":
      return await list(context, itemIndex);
    default: {
      const query = withoutEmpty(context.getNodeParameter("filters", itemIndex) as IDataObject);
      const id = text("linkId");
      return [await request({ method: "GET", path: id ? `/links/${id}/stats` : "/stats", query })];
    }
  }
}

async function list(context: IExecuteFunctions, itemIndex: number): Promise<IDataObject[]> {
  const filters = withoutEmpty(context.getNodeParameter("filters", itemIndex) as IDataObject);
  const isAll = context.getNodeParameter("returnAll", itemIndex) as boolean;
  const limit = isAll ? Infinity : (context.getNodeParameter("limit", itemIndex) as number);
  const links: IDataObject[] = [];
  for (let page = 1; links.length < limit; page += 1) {
    const query = { ...filters, page, per_page: Math.min(PER_PAGE, limit) };
    const answer = await send(context, { method: "GET", path: "/links", query }, { itemIndex });
    links.push(...(answer?.data as IDataObject[]));
    if (!(answer?.links as IDataObject)?.next) {
      break;
    }
  }
  return links.slice(0, limit);
}

function readLink(context: IExecuteFunctions, itemIndex: number): IDataObject {
  const destination = context.getNodeParameter("destination_url", itemIndex) as string;
  return toJson({
    destination_url: destination,
    ...withoutEmpty(context.getNodeParameter("additionalFields", itemIndex) as IDataObject),
  });
}

/** The body of a request: tags are entered as text. */
function toJson({ tags, ...fields }: IDataObject): IDataObject {
  if (typeof tags !== "string") {
    return fields;
  }
  const names = tags.split(",").map((tag) => tag.trim());
  return { ...fields, tags: names.filter(Boolean) };
}

const withoutEmpty = (fields: IDataObject): IDataObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== "" && value !== null));

/** The same when n8n tries an item again, so that a lost response does not make two links. */
function idempotencyKey(context: IExecuteFunctions, itemIndex: number, body: IDataObject): string {
  const parts = [context.getWorkflow().id, context.getExecutionId(), context.getNode().name, itemIndex, body];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** Requests of the API, for both nodes. */

import type {
  IDataObject,
  IExecuteFunctions,
  IHookFunctions,
  IHttpRequestMethods,
  IHttpRequestOptions,
  JsonObject,
} from "n8n-workflow";
import { NodeApiError } from "n8n-workflow";

export interface ApiRequest {
  method: IHttpRequestMethods;
  /** What follows `/api/v1`. */
  path: string;
  query?: IDataObject;
  body?: IDataObject;
  headers?: IDataObject;
}

/** The JSON of a successful response; `undefined` for one without content, and for a status of `accepted`. */
export async function send(
  context: IExecuteFunctions | IHookFunctions,
  { path, query, ...request }: ApiRequest,
  { accepted = [] as number[], itemIndex = 0 } = {},
): Promise<IDataObject | undefined> {
  const { baseUrl } = await context.getCredentials<{ baseUrl: string }>("waypostApi");
  const options: IHttpRequestOptions = {
    ...request,
    headers: { Accept: "application/json", ...request.headers },
    url: `${baseUrl.replace(/\/+$/, "")}/api/v1${path}`,
    json: true,
    timeout: 60_000,
    disableFollowRedirect: true,
    returnFullResponse: true,
    ignoreHttpStatusErrors: true,
    ...(query && { qs: query }),
  };
  const response = (await context.helpers.httpRequestWithAuthentication.call(context, "waypostApi", options)) as {
    statusCode: number;
    body: IDataObject | string;
  };
  const { statusCode, body } = response;
  if (statusCode === 204 || accepted.includes(statusCode)) {
    return undefined;
  }
  if (typeof body === "object" && statusCode < 300) {
    return body;
  }
  throw new NodeApiError(context.getNode(), response as unknown as JsonObject, {
    httpCode: String(statusCode),
    itemIndex,
    ...explain(statusCode, body),
  });
}

interface ApiError {
  message: string;
  errors?: Record<string, string[]>;
}

function explain(status: number, body: IDataObject | string): { message: string; description: string } {
  const error = typeof body === "object" ? (body?.error as unknown as ApiError | undefined) : undefined;
  if (!error) {
    return {
      message: `Waypost did not answer as its API does (status ${status})`,
      description: "Check the address in the credential. If Waypost is behind a proxy, it may not be running.",
    };
  }
  const fields = Object.entries(error.errors ?? {}).map(([field, messages]) => `${field}: ${messages.join(" ")}`);
  // where a trigger is activated, n8n shows the message alone
  return { message: fields[0] ?? error.message, description: fields.join("\n") };
}

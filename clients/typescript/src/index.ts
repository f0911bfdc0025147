/** Client for the API of Waypost, the service for branded short links. */

export { Waypost } from "./client.js";
export {
  ConnectionFailed,
  type ErrorDetails,
  Forbidden,
  NotFound,
  PaymentRequired,
  RateLimited,
  ServerError,
  SignatureError,
  Unauthenticated,
  UnexpectedResponse,
  ValidationError,
  WaypostError,
} from "./errors.js";
export type { Listed, Page, Pages } from "./pages.js";
export type {
  Account,
  Clicks,
  Domains,
  Keys,
  Links,
  Pixels,
  Qrcodes,
  Shares,
  Stats,
  Tags,
  Templates,
  Webhooks,
  WithImage,
} from "./resources.js";
export { etagOf } from "./sender.js";
export type { CallOptions, ChangeOptions, CreateOptions, ImageFile, Query, WaypostOptions } from "./sender.js";
export type * from "./types.js";
export { VERSION } from "./version.js";
export { verifyWebhook, type WebhookHeaders } from "./webhooks.js";

// Made from the OpenAPI document by `python -m clients.typescript.generator`; do not edit.

export interface AccountStats {
  /** Start of the time range */
  from: string;
  /** End of the time range, exclusive */
  to: string;
  /** Length of an entry of `series` */
  interval: StatsInterval;
  /** Time zone of the intervals */
  timezone: string;
  /** Number of clicks by people, including QR code scans */
  clicks: number;
  /** Number of unique visitors. A visitor counts once per UTC day. Null for several links on days whose clicks were deleted */
  visitors: number | null;
  /** Number of QR code scans, included in `clicks` */
  scans: number;
  /** Number of visits by crawlers, not included in `clicks` */
  crawlers: number;
  /** Number of requests for link previews, not included in `clicks` */
  previews: number;
  /** First click in the time range; null if there is none */
  first_clicked_at: string | null;
  /** Last click in the time range; null if there is none */
  last_clicked_at: string | null;
  /** Numbers for each interval of the time range */
  series: StatsEntry[];
  /** Clicks by country code, the 50 most frequent */
  countries: ValueCount[];
  /** Clicks by referrer, the 50 most frequent */
  referrers: ValueCount[];
  /** Clicks by device type */
  devices: ValueCount[];
  /** Clicks by browser family, the 50 most frequent */
  browsers: ValueCount[];
  /** Clicks by operating system, the 50 most frequent */
  platforms: ValueCount[];
  /** Clicks by hour of the week, without hours that have no clicks */
  hours: Hour[];
  /** The earlier time range, if `compare` was sent: cut at the same time of day */
  previous?: PreviousStats;
  /** The 50 links with the most clicks */
  top_links: TopLink[];
  /** Clicks by tag of the link, the 50 most frequent */
  tags: ValueCount[];
  /** Clicks by hostname of the link, the 50 most frequent */
  hostnames: ValueCount[];
  /** Clicks by UTM source of the link, the 50 most frequent */
  utm_sources: ValueCount[];
  /** Clicks by UTM medium of the link, the 50 most frequent */
  utm_mediums: ValueCount[];
  /** Clicks by UTM campaign of the link, the 50 most frequent */
  utm_campaigns: ValueCount[];
}
export interface Alias {
  /** ID */
  id: string;
  /** ID of the link */
  link_id: string;
  /** Hostname, such as go.example.com */
  hostname: string;
  /** Path without its leading slash, percent-decoded */
  path: string;
  /** Time of creation */
  created_at: string;
}
export interface AliasCreate {
  /** A custom domain of the account */
  hostname: string;
  /** Path without a leading slash, not percent-encoded; upper and lower case differ */
  path: string;
}
export interface ApiKey {
  /** ID */
  id: string;
  /** Name */
  name: string;
  /** First characters of the key */
  prefix: string;
  /** What the key may do */
  scopes: Scope[];
  /** Last request with the key; null if it was never used */
  last_used_at: string | null;
  /** Time of expiry; null for never */
  expires_at: string | null;
  /** Time of creation */
  created_at: string;
}
export interface AppLinks {
  /** Document for iOS and macOS, at most 128 KiB; null if there is none */
  apple_app_site_association: {
    [key: string]: unknown;
  } | null;
  /** Document for Android: a list of statements, at most 128 KiB; null if there is none */
  assetlinks: unknown[] | null;
}
export interface AppLinksInput {
  /** Document for iOS and macOS, at most 128 KiB; null if there is none */
  apple_app_site_association?: {
    [key: string]: unknown;
  } | null;
  /** Document for Android: a list of statements, at most 128 KiB; null if there is none */
  assetlinks?: unknown[] | null;
}
export interface BulkCreate {
  /** 1 to 100 links to create, each with the fields of a link */
  links: LinkCreate[];
}
export interface BulkCreateMeta {
  /** Number of links that were created */
  created: number;
  /** Number of entries that were refused */
  invalid: number;
  /** Number of entries that did not get their turn within 30 seconds. Missing if there are none */
  retry?: number;
}
export interface BulkCreateResponse {
  /** The result */
  data: BulkCreateRow[];
  /** Number of entries by status */
  meta: BulkCreateMeta;
}
export interface BulkCreateRow {
  /** Position in the list that was sent, from 0 */
  index: number;
  /** Status */
  status: BulkCreateStatus;
  /** The link that was created */
  link?: Link;
  /** Problems of each field */
  errors?: FieldErrors;
}
/** What became of an entry: `retry` means that it did not get its turn, and should be sent again */
export type BulkCreateStatus = "created" | "invalid" | "retry";
export interface BulkDelete {
  /** IDs of links, 1 to 100 */
  ids: string[];
}
export interface BulkDeleteMeta {
  /** Number of links that were deleted */
  deleted: number;
  /** Number of ids that are not of a link of the account */
  not_found: number;
}
export interface BulkDeleteResponse {
  /** The result */
  data: BulkDeleteRow[];
  /** Number of entries by status */
  meta: BulkDeleteMeta;
}
export interface BulkDeleteRow {
  /** ID */
  id: string;
  /** Status */
  status: BulkDeleteStatus;
}
/** What became of an id */
export type BulkDeleteStatus = "deleted" | "not_found";
export interface BulkUpdate {
  /** IDs of links, 1 to 100 */
  ids: string[];
  /** What to change in each of the links */
  set: BulkUpdateSet;
}
export interface BulkUpdateMeta {
  /** Number of links that were changed */
  updated: number;
  /** Number of links that were like this before */
  unchanged: number;
  /** Number of ids that are not of a link of the account */
  not_found: number;
  /** Number of entries that were refused */
  invalid: number;
}
export interface BulkUpdateResponse {
  /** The result */
  data: BulkUpdateRow[];
  /** Number of entries by status */
  meta: BulkUpdateMeta;
}
export interface BulkUpdateRow {
  /** ID */
  id: string;
  /** Status */
  status: BulkUpdateStatus;
  /** Problems of each field */
  errors?: FieldErrors;
}
export interface BulkUpdateSet {
  /** `inactive` disables the links */
  status?: LinkStatus;
  /** Time of expiry; null for never */
  expires_at?: TimeInput | null;
  /** Domain of the account; null for the shared domain */
  hostname?: string | null;
  /** IDs of the pixels that fire on the link */
  pixel_ids?: string[] | null;
  /** Options of the link; those that are left out stay as they are */
  options?: LinkOptionsUpdate;
  /** UTM parameters to set in the destination of each link; null as a value removes one, and others stay */
  utm_params?: UtmParamsInput;
  /** Tags that replace those of each link; not together with `add_tags` or `remove_tags` */
  tags?: string[] | null;
  /** Tags to add; those that a link has already stay where they are */
  add_tags?: string[];
  /** Tags to remove */
  remove_tags?: string[];
}
/** What became of an id */
export type BulkUpdateStatus = "updated" | "unchanged" | "not_found" | "invalid";
export interface Click {
  /** ID */
  id: string;
  /** ID of the link */
  link_id: string;
  /** IP address, as far as the privacy settings store it */
  ip: string;
  /** ISO 3166-1 country code; empty if unknown */
  country: string;
  /** The same for clicks of one visitor on one UTC day */
  visitor_id: string;
  /** Origin and path of the referring page; empty if unknown */
  referrer: string;
  /** desktop, mobile, tablet or other */
  device: Device;
  /** Browser family, such as Firefox */
  browser: string;
  /** Operating system, such as Android */
  platform: string;
  /** Time of creation */
  created_at: string;
  /** Whether the QR code was scanned */
  is_scan: boolean;
  /** human, crawler, preview (of a chat or social network) or prefetch (by a browser) */
  kind: ClickKind;
  /** Name of the bot; null for people */
  bot: string | null;
}
export interface ClickEvent {
  /** ID */
  id: string;
  /** ID of the link */
  link_id: string;
  /** IP address, as far as the privacy settings store it */
  ip: string;
  /** ISO 3166-1 country code; empty if unknown */
  country: string;
  /** The same for clicks of one visitor on one UTC day */
  visitor_id: string;
  /** Origin and path of the referring page; empty if unknown */
  referrer: string;
  /** desktop, mobile, tablet or other */
  device: Device;
  /** Browser family, such as Firefox */
  browser: string;
  /** Operating system, such as Android */
  platform: string;
  /** Time of creation */
  created_at: string;
}
/** What made a visit: a person, a crawler, a link preview or the prefetch of a browser */
export type ClickKind = "human" | "crawler" | "preview" | "prefetch";
/** A kind of visit, or all of them */
export type ClickKindFilter = "human" | "crawler" | "preview" | "prefetch" | "all";
/** Parameters of the operation: List clicks */
export interface ClicksListQuery {
  /**
     * Page number
     * @default 1
     */
  page?: number;
  /**
     * Items per page; the maximum is 100
     * @default 15
     */
  per_page?: number;
  /** Start of the time range */
  from?: TimeInput;
  /** End of the time range, exclusive */
  to?: TimeInput;
  /**
     * Kind of visit; only `human` visits count as clicks
     * @default human
     */
  kind?: ClickKindFilter;
  /** Two-letter country codes, or `unknown`; `-` before one excludes it */
  country?: string | string[];
  /** Types of device: desktop, mobile, tablet, other; `-` before one excludes it */
  device?: string | string[];
  /** Browser families, or `unknown`; `-` before one excludes it */
  browser?: string | string[];
  /** Operating system families, or `unknown`; `-` before one excludes it */
  platform?: string | string[];
  /** Origin and path of the referring page, a host for all its pages, or `direct`; `-` before one excludes it */
  referrer?: string | string[];
  /** Names of rules and variants, or `default`; `-` before one excludes it */
  target?: string | string[];
  /** `true` for scans of QR codes, `false` for other clicks; `-` before one excludes it */
  is_scan?: string | string[];
  /** IDs of links; `-` before one excludes it */
  link_id?: string | string[];
  /** Tags that links have now, `none` for links without tags; `-` before one excludes it */
  tag?: string | string[];
  /** Hostnames of links; `-` before one excludes it */
  hostname?: string | string[];
  /** UTM sources of links, `none` for links without one; `-` before one excludes it */
  utm_source?: string | string[];
  /** UTM mediums of links, `none` for links without one; `-` before one excludes it */
  utm_medium?: string | string[];
  /** UTM campaigns of links, `none` for links without one; `-` before one excludes it */
  utm_campaign?: string | string[];
  /** UTM terms of links, `none` for links without one; `-` before one excludes it */
  utm_term?: string | string[];
  /** UTM contents of links, `none` for links without one; `-` before one excludes it */
  utm_content?: string | string[];
}
export interface Condition {
  /** What the condition compares */
  type: ConditionType;
  /** `in` (default) or `not_in`. What is unknown or absent is in no list */
  operator: ConditionOperator;
  /** Name of the query parameter */
  name?: string;
  /** 1 to 250 values, for all types but `time` and `schedule` */
  values?: string[];
  /** Days on which a schedule starts, from 1 for Monday to 7 for Sunday */
  weekdays?: number[];
  /** Start: for `time` a time, or null; for `schedule` a time of day, such as 09:00 */
  from?: string | null;
  /** End, exclusive: like `from`. A schedule that does not end after its start ends on the next day */
  to?: string | null;
  /** Time zone of a schedule */
  timezone?: string;
}
export interface ConditionInput {
  /** What the condition compares; `device`, `platform` and `browser` as in statistics */
  type: ConditionType;
  /** `in` (default) or `not_in`. What is unknown or absent is in no list */
  operator?: ConditionOperator;
  /** 1 to 250 values, for all types but `time` and `schedule` */
  values?: string[] | null;
  /** Name of the query parameter, for `query` */
  name?: string | null;
  /** Start: for `time` a time, or null; for `schedule` a time of day, such as 09:00 */
  from?: TimeInput | null;
  /** End, exclusive: like `from`. A schedule that does not end after its start ends on the next day */
  to?: TimeInput | null;
  /** Days on which a schedule starts, from 1 for Monday to 7 for Sunday */
  weekdays?: number[] | null;
  /** IANA time zone of a schedule, such as Europe/Berlin */
  timezone?: string | null;
}
/** Whether the visitor must be in the list, or not */
export type ConditionOperator = "in" | "not_in";
/** What a condition compares */
export type ConditionType = "device" | "platform" | "browser" | "country" | "language" | "query" | "time" | "schedule";
export interface CreatedWebhook {
  /** ID */
  id: string;
  /** https:// URL that receives the events */
  url: string;
  /** Event types that are delivered */
  event_types: EventType[];
  /** Time of creation */
  created_at: string;
  /** Time of the last change */
  updated_at: string;
  /** Signing secret. It is returned only once. */
  secret: string;
}
export interface Delivery {
  /** ID */
  id: string;
  /** Event type, such as `link.created` */
  event: DeliveryEventType;
  /** Status of the delivery */
  status: DeliveryStatus;
  /** Number of attempts so far */
  attempts: number;
  /** Time of the next attempt; null if there is none */
  next_attempt_at: string | null;
  /** HTTP status of the last response; null if there was none */
  response_status: number | null;
  /** Why the last attempt failed; null if it did not */
  error: string | null;
  /** Time of creation */
  created_at: string;
}
/** Type of the event of a delivery; `webhook.test` is sent on request only */
export type DeliveryEventType = "link.created" | "link.clicked" | "pixel.fired" | "webhook.test";
/** Status of a delivery */
export type DeliveryStatus = "pending" | "delivered" | "failed" | "cancelled";
/** Type of device */
export type Device = "desktop" | "mobile" | "tablet" | "other";
export interface DnsRecord {
  /** Type of the DNS record */
  type: DnsRecordType;
  /** Name of the DNS record */
  name: string;
  /** Value of the DNS record */
  value: string;
}
/** Type of a DNS record */
export type DnsRecordType = "TXT" | "CNAME";
export interface Domain {
  /** ID */
  id: string;
  /** Hostname, such as go.example.com */
  hostname: string;
  /** `verified` when one of the DNS records was found */
  status: DomainStatus;
  /** Time of the verification; null if the domain is not verified */
  verified_at: string | null;
  /** Last DNS check; null before the first */
  last_checked_at: string | null;
  /** Why the last check failed; null if it did not */
  error: string | null;
  /** DNS records that verify the domain; one of them is enough */
  dns_records: DnsRecord[];
  /** URL for visitors who open the domain without a slug; null for an error page */
  root_url: string | null;
  /** URL for visitors of unknown, expired or disabled links of the domain; null for an error page */
  not_found_url: string | null;
  /** Number of links on the domain */
  links_count: number;
  /** HTTPS certificate of the domain */
  tls: Tls;
  /** Time of creation */
  created_at: string;
  /** Time of the last change */
  updated_at: string;
}
export interface DomainAppearance {
  /** ID of the domain */
  domain_id: string;
  /** Name above each page, which links to the domain's root URL if it has one */
  name: string | null;
  /** Color of buttons, links and the edge of the page. Where text of it would be hard to read, it is made darker, or lighter on a dark background */
  color: string | null;
  /** Text for visitors of an address that no link has, or a disabled one */
  not_found_text: string | null;
  /** Text for visitors of a link that has expired or reached its click limit */
  expired_text: string | null;
  /** Text for visitors of a link before its start */
  not_started_text: string | null;
  /** Text above the form that asks for the password of a link */
  password_text: string | null;
  /** Time of the last change; null if there was none */
  updated_at: string | null;
}
export interface DomainAppearanceUpdate {
  /** Name above each page, which links to the domain's root URL if it has one */
  name?: string | null;
  /** Color of buttons, links and the edge of the page. Where text of it would be hard to read, it is made darker, or lighter on a dark background */
  color?: string | null;
  /** Text for visitors of an address that no link has, or a disabled one */
  not_found_text?: string | null;
  /** Text for visitors of a link that has expired or reached its click limit */
  expired_text?: string | null;
  /** Text for visitors of a link before its start */
  not_started_text?: string | null;
  /** Text above the form that asks for the password of a link */
  password_text?: string | null;
}
export interface DomainCreate {
  /** Hostname, such as go.example.com */
  hostname: string;
}
export interface DomainOptions {
  /** ID of the domain */
  domain_id: string;
  /** Which parameters of the visitor's query are added to the destination: "none", "all", or 1 to 20 names, of which an asterisk at the end matches the rest */
  forward_query: string | string[];
  /** Whether what follows the link's path in the visitor's address is added to the path of the destination */
  forward_path: boolean;
  /** Whether visitors reach a link by its address in other case, if no other link of the domain differs by nothing else and its slug was not generated */
  ignore_case: boolean;
  /** Characters of generated slugs */
  slug_length: number;
  /** Characters of generated slugs: letters and digits, only small letters and digits, or digits. Those that look like others are left out where there are letters */
  slug_alphabet: SlugAlphabet;
  /** Time of the last change; null if there was none */
  updated_at: string | null;
}
export interface DomainOptionsUpdate {
  /** Which parameters of the visitor's query are added to the destination: "none", "all", or 1 to 20 names, of which an asterisk at the end matches the rest */
  forward_query?: string | string[] | null;
  /** Whether what follows the link's path in the visitor's address is added to the path of the destination */
  forward_path?: boolean | null;
  /** Whether visitors reach a link of the domain by its address in other case; true by default */
  ignore_case?: boolean | null;
  /** Characters of slugs that are generated on the domain, 4 to 20; 7 by default */
  slug_length?: number | null;
  /** Characters of generated slugs: letters and digits, only small letters and digits, or digits. Those that look like others are left out where there are letters; `mixed` by default */
  slug_alphabet?: SlugAlphabet | null;
}
/** Status of the verification of a domain */
export type DomainStatus = "pending" | "verifying" | "verified" | "failed";
export interface DomainUpdate {
  /** Cannot be changed: only the current hostname is accepted */
  hostname?: string;
  /** URL for visitors who open the domain without a slug; null for an error page */
  root_url?: string | null;
  /** URL for visitors of unknown, expired or disabled links of the domain; null for an error page */
  not_found_url?: string | null;
}
/** Parameters of the operation: List missed addresses of a domain */
export interface DomainsListMissedQuery {
  /**
     * Page number
     * @default 1
     */
  page?: number;
  /**
     * Items per page; the maximum is 100
     * @default 15
     */
  per_page?: number;
}
/** Parameters of the operation: List domains */
export interface DomainsListQuery {
  /**
     * Page number
     * @default 1
     */
  page?: number;
  /**
     * Items per page; the maximum is 100
     * @default 15
     */
  per_page?: number;
}
/** Code of an error, for programs; `http_error` is every error without a code of its own */
export type ErrorCode = "unauthenticated" | "payment_required" | "forbidden" | "not_found" | "method_not_allowed" | "validation_error" | "rate_limited" | "server_error" | "http_error";
/** How much of a code may be damaged: L 7 %, M 15 %, Q 25 %, H 30 % */
export type ErrorCorrection = "L" | "M" | "Q" | "H";
/** Type of an event that a webhook can subscribe to */
export type EventType = "link.created" | "link.clicked" | "pixel.fired";
export interface FieldErrors {
  [key: string]: string[];
}
export interface Filters {
  /** Two-letter country codes, or `unknown`; `-` before one excludes it */
  country?: string[];
  /** Types of device: desktop, mobile, tablet, other; `-` before one excludes it */
  device?: string[];
  /** Browser families, or `unknown`; `-` before one excludes it */
  browser?: string[];
  /** Operating system families, or `unknown`; `-` before one excludes it */
  platform?: string[];
  /** Origin and path of the referring page, a host for all its pages, or `direct`; `-` before one excludes it */
  referrer?: string[];
  /** Names of rules and variants, or `default`; `-` before one excludes it */
  target?: string[];
  /** `true` for scans of QR codes, `false` for other clicks; `-` before one excludes it */
  is_scan?: string[];
  /** IDs of links; `-` before one excludes it */
  link_id?: string[];
  /** Tags that links have now, `none` for links without tags; `-` before one excludes it */
  tag?: string[];
  /** Hostnames of links; `-` before one excludes it */
  hostname?: string[];
  /** UTM sources of links, `none` for links without one; `-` before one excludes it */
  utm_source?: string[];
  /** UTM mediums of links, `none` for links without one; `-` before one excludes it */
  utm_medium?: string[];
  /** UTM campaigns of links, `none` for links without one; `-` before one excludes it */
  utm_campaign?: string[];
  /** UTM terms of links, `none` for links without one; `-` before one excludes it */
  utm_term?: string[];
  /** UTM contents of links, `none` for links without one; `-` before one excludes it */
  utm_content?: string[];
}
export interface FiltersInput {
  /** Two-letter country codes, or `unknown`; `-` before one excludes it */
  country?: string[];
  /** Types of device: desktop, mobile, tablet, other; `-` before one excludes it */
  device?: string[];
  /** Browser families, or `unknown`; `-` before one excludes it */
  browser?: string[];
  /** Operating system families, or `unknown`; `-` before one excludes it */
  platform?: string[];
  /** Origin and path of the referring page, a host for all its pages, or `direct`; `-` before one excludes it */
  referrer?: string[];
  /** Names of rules and variants, or `default`; `-` before one excludes it */
  target?: string[];
  /** `true` for scans of QR codes, `false` for other clicks; `-` before one excludes it */
  is_scan?: string[];
  /** IDs of links; `-` before one excludes it */
  link_id?: string[];
  /** Tags that links have now, `none` for links without tags; `-` before one excludes it */
  tag?: string[];
  /** Hostnames of links; `-` before one excludes it */
  hostname?: string[];
  /** UTM sources of links, `none` for links without one; `-` before one excludes it */
  utm_source?: string[];
  /** UTM mediums of links, `none` for links without one; `-` before one excludes it */
  utm_medium?: string[];
  /** UTM campaigns of links, `none` for links without one; `-` before one excludes it */
  utm_campaign?: string[];
  /** UTM terms of links, `none` for links without one; `-` before one excludes it */
  utm_term?: string[];
  /** UTM contents of links, `none` for links without one; `-` before one excludes it */
  utm_content?: string[];
}
/** Frame around a QR code */
export type FrameStyle = "none" | "bottom";
/** `broken`: 404, 410, no such host or an invalid certificate on three days; `uncertain`: it failed otherwise, or not on three days yet; `unchecked`: not visited yet */
export type HealthStatus = "ok" | "broken" | "uncertain" | "unchecked";
export interface Hour {
  /** Day of the week, from 1 for Monday to 7 */
  weekday: number;
  /** Hour of the day, from 0 to 23, in the time zone of the intervals */
  hour: number;
  /** Number of clicks by people, including QR code scans */
  clicks: number;
}
/** Format of an image */
export type ImageFormat = "png" | "svg" | "pdf";
/** Text of a label */
export type LabelCaption = "slug" | "title" | "none";
export interface LabelGridInput {
  /** Labels in a row */
  columns: number;
  /** Labels in a column */
  rows: number;
  /** Millimeters above the first row; default: 10 */
  margin_top?: number | null;
  /** Millimeters beside the last column; default: 10 */
  margin_right?: number | null;
  /** Millimeters below the last row; default: 10 */
  margin_bottom?: number | null;
  /** Millimeters beside the first column; default: 10 */
  margin_left?: number | null;
  /** Millimeters between two columns; default: 0 */
  gap_x?: number | null;
  /** Millimeters between two rows; default: 0 */
  gap_y?: number | null;
}
/** Sheet of labels of Avery */
export type LabelSheet = "L4731" | "L7160";
export interface Limits {
  /** Requests per minute and key */
  requests_per_minute: number;
}
export interface Link {
  /** ID */
  id: string;
  /** Title */
  title: string;
  /** http:// or https:// URL that visitors are redirected to, including the UTM parameters */
  destination_url: string;
  /** Short URL, to share */
  short_url: string;
  /** Path of the short URL */
  slug: string;
  /** Custom domain of the link, or the shared domain */
  hostname: string;
  /** Title in link previews */
  og_title: string | null;
  /** Description in link previews */
  og_description: string | null;
  /** URL of the image in link previews */
  og_image: string | null;
  /** UTM parameters, which are added to the destination URL */
  utm_params: UtmParams;
  /** Tags */
  tags: string[];
  /** Time of expiry; null for never */
  expires_at: string | null;
  /** IDs of the pixels that fire on the link */
  pixel_ids: string[];
  /** Number of clicks by people, including QR code scans */
  clicks: number;
  /** active, or inactive (disabled, expired, before its start or after its click limit) */
  status: LinkStatus;
  /** Time of creation */
  created_at: string;
  /** Time of the last change */
  updated_at: string;
}
export interface LinkClickedEvent {
  /** ID of the delivery: the same in each attempt, another for each webhook */
  id: string;
  /**
     * Version of the format
     * @constant
     */
  api_version: "v1";
  /**
     * Event type, such as `link.created`
     * @constant
     */
  event: "link.clicked";
  /** Time of the event, in UTC */
  created_at: string;
  /** What happened */
  data: ClickEvent;
}
export interface LinkCreate {
  /** http:// or https:// URL that visitors are redirected to, including the UTM parameters */
  destination_url: string;
  /** Path of the short URL: letters, digits, hyphens and underscores. Default: generated */
  slug?: string | null;
  /** Title. Default: the title of the destination's page */
  title?: string | null;
  /** Verified or unverified domain of the account. Default: the shared domain */
  hostname?: string | null;
  /** Title in link previews */
  og_title?: string | null;
  /** Description in link previews */
  og_description?: string | null;
  /** URL of the image in link previews */
  og_image?: string | null;
  /** UTM parameters, which are added to the destination URL */
  utm_params?: UtmParamsInput;
  /** Tags */
  tags?: string[] | null;
  /** Time of expiry; null for never */
  expires_at?: TimeInput | null;
  /** IDs of the pixels that fire on the link */
  pixel_ids?: string[] | null;
  /** Options of the link; those that are left out stay as they are */
  options?: LinkOptionsUpdate;
}
export interface LinkCreatedEvent {
  /** ID of the delivery: the same in each attempt, another for each webhook */
  id: string;
  /**
     * Version of the format
     * @constant
     */
  api_version: "v1";
  /**
     * Event type, such as `link.created`
     * @constant
     */
  event: "link.created";
  /** Time of the event, in UTC */
  created_at: string;
  /** What happened */
  data: Link;
}
export interface LinkHealth {
  /** ID of the link */
  link_id: string;
  /** What the visits found */
  status: HealthStatus;
  /** Time of the last visit */
  checked_at: string | null;
  /** HTTP status of the response; null without a response */
  http_status: number | null;
  /** What is wrong, in words */
  reason: string | null;
  /** First visit in a row with success, or without */
  since: string | null;
}
export interface LinkOptions {
  /** ID of the link */
  link_id: string;
  /** Which parameters of the visitor's query are added to the destination: "none", "all", or 1 to 20 names, of which an asterisk at the end matches the rest; null as the domain says */
  forward_query: string | string[] | null;
  /** Whether what follows the link's path in the visitor's address is added to the path of the destination; null as the domain says */
  forward_path: boolean | null;
  /** Text for the members of the account, which searches find */
  note: string | null;
  /** ID of the link in another system: visible characters without blanks, unique in the account */
  external_id: string | null;
  /** Time of the last change of the link */
  updated_at: string;
}
export interface LinkOptionsUpdate {
  /** Which parameters of the visitor's query are added to the destination: "none", "all", or 1 to 20 names, of which an asterisk at the end matches the rest; null as the domain says */
  forward_query?: string | string[] | null;
  /** Whether what follows the link's path in the visitor's address is added to the path of the destination; null as the domain says */
  forward_path?: boolean | null;
  /** Text for the members of the account, which searches find */
  note?: string | null;
  /** ID of the link in another system: visible characters without blanks, unique in the account */
  external_id?: string | null;
}
export interface LinkStats {
  /** Start of the time range */
  from: string;
  /** End of the time range, exclusive */
  to: string;
  /** Length of an entry of `series` */
  interval: StatsInterval;
  /** Time zone of the intervals */
  timezone: string;
  /** Number of clicks by people, including QR code scans */
  clicks: number;
  /** Number of unique visitors. A visitor counts once per UTC day. Null for several links on days whose clicks were deleted */
  visitors: number | null;
  /** Number of QR code scans, included in `clicks` */
  scans: number;
  /** Number of visits by crawlers, not included in `clicks` */
  crawlers: number;
  /** Number of requests for link previews, not included in `clicks` */
  previews: number;
  /** First click in the time range; null if there is none */
  first_clicked_at: string | null;
  /** Last click in the time range; null if there is none */
  last_clicked_at: string | null;
  /** Numbers for each interval of the time range */
  series: StatsEntry[];
  /** Clicks by country code, the 50 most frequent */
  countries: ValueCount[];
  /** Clicks by referrer, the 50 most frequent */
  referrers: ValueCount[];
  /** Clicks by device type */
  devices: ValueCount[];
  /** Clicks by browser family, the 50 most frequent */
  browsers: ValueCount[];
  /** Clicks by operating system, the 50 most frequent */
  platforms: ValueCount[];
  /** Clicks by hour of the week, without hours that have no clicks */
  hours: Hour[];
  /** The earlier time range, if `compare` was sent: cut at the same time of day */
  previous?: PreviousStats;
  /** ID of the link */
  link_id: string;
  /** Clicks that another service counted before the link was imported, for all time and in no other number; 0 if there are none */
  imported_clicks: number;
  /** Clicks by the name of the rule or variant that the visitor was sent to, or `default` */
  targets: ValueCount[];
}
/** `inactive`: disabled, expired, before its start or after its click limit */
export type LinkStatus = "active" | "inactive";
export interface LinkUpdate {
  /** http:// or https:// URL that visitors are redirected to, including the UTM parameters */
  destination_url?: string;
  /** Path of the short URL: letters, digits, hyphens and underscores */
  slug?: string;
  /** Title */
  title?: string | null;
  /** Domain of the account; null for the shared domain */
  hostname?: string | null;
  /** Title in link previews */
  og_title?: string | null;
  /** Description in link previews */
  og_description?: string | null;
  /** URL of the image in link previews */
  og_image?: string | null;
  /** UTM parameters, which are added to the destination URL */
  utm_params?: UtmParamsInput | null;
  /** Tags */
  tags?: string[] | null;
  /** Time of expiry; null for never */
  expires_at?: TimeInput | null;
  /** IDs of the pixels that fire on the link */
  pixel_ids?: string[] | null;
  /** Options of the link; those that are left out stay as they are */
  options?: LinkOptionsUpdate | null;
  /** `inactive` disables the link */
  status?: LinkStatus;
}
export interface LinkUpsert {
  /** http:// or https:// URL that visitors are redirected to, including the UTM parameters */
  destination_url?: string | null;
  /** Path of the short URL: letters, digits, hyphens and underscores. Default: generated */
  slug?: string | null;
  /** Title. Default: the title of the destination's page */
  title?: string | null;
  /** Verified or unverified domain of the account. Default: the shared domain */
  hostname?: string | null;
  /** Title in link previews */
  og_title?: string | null;
  /** Description in link previews */
  og_description?: string | null;
  /** URL of the image in link previews */
  og_image?: string | null;
  /** UTM parameters, which are added to the destination URL */
  utm_params?: UtmParamsInput | null;
  /** Tags */
  tags?: string[] | null;
  /** Time of expiry; null for never */
  expires_at?: TimeInput | null;
  /** IDs of the pixels that fire on the link */
  pixel_ids?: string[] | null;
  /** Options of the link; those that are left out stay as they are */
  options?: LinkOptionsUpdate | null;
}
/** Parameters of the operation: List a link's clicks */
export interface LinksClicksQuery {
  /**
     * Page number
     * @default 1
     */
  page?: number;
  /**
     * Items per page; the maximum is 100
     * @default 15
     */
  per_page?: number;
  /** Start of the time range */
  from?: TimeInput;
  /** End of the time range, exclusive */
  to?: TimeInput;
  /**
     * Kind of visit; only `human` visits count as clicks
     * @default human
     */
  kind?: ClickKindFilter;
  /** Two-letter country codes, or `unknown`; `-` before one excludes it */
  country?: string | string[];
  /** Types of device: desktop, mobile, tablet, other; `-` before one excludes it */
  device?: string | string[];
  /** Browser families, or `unknown`; `-` before one excludes it */
  browser?: string | string[];
  /** Operating system families, or `unknown`; `-` before one excludes it */
  platform?: string | string[];
  /** Origin and path of the referring page, a host for all its pages, or `direct`; `-` before one excludes it */
  referrer?: string | string[];
  /** Names of rules and variants, or `default`; `-` before one excludes it */
  target?: string | string[];
  /** `true` for scans of QR codes, `false` for other clicks; `-` before one excludes it */
  is_scan?: string | string[];
}
/** Parameters of the operation: List a link's aliases */
export interface LinksListAliasesQuery {
  /**
     * Page number
     * @default 1
     */
  page?: number;
  /**
     * Items per page; the maximum is 100
     * @default 15
     */
  per_page?: number;
}
/** Parameters of the operation: List links */
export interface LinksListQuery {
  /**
     * Page number
     * @default 1
     */
  page?: number;
  /**
     * Items per page; the maximum is 100
     * @default 15
     */
  per_page?: number;
  /** Text in title, slug, aliases, destination or note */
  search?: string;
  /** The link with this external ID */
  external_id?: string;
  /** Links with exactly this tag */
  tag?: string;
  /** A domain of the account, or the shared domain */
  hostname?: string;
  /** Status of the link */
  status?: LinkStatus;
  /** Status of the link's health */
  health?: HealthStatus;
  /** Links from before this time that nobody has clicked since */
  unused_since?: TimeInput;
  /** Links that expired before this time */
  expired_before?: TimeInput;
}
/** Parameters of the operation: Get a link's statistics */
export interface LinksStatsQuery {
  /** Start of the time range */
  from?: TimeInput;
  /** End of the time range, exclusive */
  to?: TimeInput;
  /**
     * Length of one entry of the series
     * @default day
     */
  interval?: StatsInterval;
  /**
     * IANA name of the time zone of the series
     * @default UTC
     */
  timezone?: string;
  /** Adds `previous`: the period before, as many days earlier, or the same dates a year earlier */
  compare?: StatsComparison;
  /**
     * Adds the visitors of each entry to lists
     * @default false
     */
  visitors?: boolean;
  /** Two-letter country codes, or `unknown`; `-` before one excludes it */
  country?: string | string[];
  /** Types of device: desktop, mobile, tablet, other; `-` before one excludes it */
  device?: string | string[];
  /** Browser families, or `unknown`; `-` before one excludes it */
  browser?: string | string[];
  /** Operating system families, or `unknown`; `-` before one excludes it */
  platform?: string | string[];
  /** Origin and path of the referring page, a host for all its pages, or `direct`; `-` before one excludes it */
  referrer?: string | string[];
  /** Names of rules and variants, or `default`; `-` before one excludes it */
  target?: string | string[];
  /** `true` for scans of QR codes, `false` for other clicks; `-` before one excludes it */
  is_scan?: string | string[];
}
export interface ListedApiKey {
  /** ID */
  id: string;
  /** Name */
  name: string;
  /** First characters of the key */
  prefix: string;
  /** What the key may do */
  scopes: Scope[];
  /** Last request with the key; null if it was never used */
  last_used_at: string | null;
  /** Time of expiry; null for never */
  expires_at: string | null;
  /** Time of creation */
  created_at: string;
  /** When the key was revoked; null if it is valid */
  revoked_at: string | null;
}
export interface Logo {
  /** Width in pixels, after cropping to the content */
  width: number;
  /** Height in pixels, after cropping to the content */
  height: number;
  /** URL of the PNG image, a new one after each upload */
  url: string;
  /** Time of the upload */
  updated_at: string;
}
export interface LogoInputForm {
  /** PNG, JPEG or WebP image of at most 2 MB */
  file: string;
}
export interface Me {
  /** ID */
  id: string;
  /** Name */
  name: string;
  /** Email of the account */
  email: string;
  /** Time of creation */
  created_at: string;
  /** Plan of the account */
  plan: Plan;
  /** The key of this request */
  token: ApiKey;
  /** Limits of the account */
  limits: Limits;
  /** Domain of links without a custom domain */
  shared_domain: string;
}
export interface MissedAddress {
  /** Path that visitors tried, from the slash on; long ones are cut */
  path: string;
  /** Visits of people */
  visits: number;
  /** Time of the first visit */
  first_at: string;
  /** Time of the last visit */
  last_at: string;
}
/** Shape of the modules of a QR code */
export type ModuleStyle = "squares" | "dots" | "fluid";
export interface PageMeta {
  /** Position of the first item of this page, from 1; null if the page is empty */
  from: number | null;
  /** Number of this page */
  current_page: number;
  /** Number of the last page */
  last_page: number;
  /** URL of the list, without parameters */
  path: string;
  /** Items per page */
  per_page: number;
  /** Position of the last item of this page; null if the page is empty */
  to: number | null;
  /** Number of items on all pages */
  total: number;
}
export interface Pixel {
  /** ID */
  id: string;
  /** Advertising platform */
  platform: PixelPlatform;
  /** Name */
  name: string;
  /** Time of creation */
  created_at: string;
  /** Time of the last change */
  updated_at: string;
}
export interface PixelCreate {
  /** Advertising platform */
  platform: PixelPlatform;
  /** Name */
  name: string;
  /** ID of the pixel on its platform. It is never returned. */
  pixel_id: string;
  /** Access token of the platform, for events sent from the server. It is never returned. */
  access_token?: string | null;
}
export interface PixelFired {
  /** ID of the pixel */
  pixel_id: string;
  /** Advertising platform */
  platform: PixelPlatform;
  /** ID of the link */
  link_id: string;
  /** ID of the click that triggered it */
  visit_id: string | null;
}
export interface PixelFiredEvent {
  /** ID of the delivery: the same in each attempt, another for each webhook */
  id: string;
  /**
     * Version of the format
     * @constant
     */
  api_version: "v1";
  /**
     * Event type, such as `link.created`
     * @constant
     */
  event: "pixel.fired";
  /** Time of the event, in UTC */
  created_at: string;
  /** What happened */
  data: PixelFired;
}
/** Advertising platform */
export type PixelPlatform = "facebook" | "tiktok" | "pinterest" | "google_ads";
export interface PixelResults {
  /** Events that the platform accepted */
  sent: number;
  /** Events that the platform rejected */
  rejected: number;
  /** Events that were not sent: too old, too many, incomplete, or tried too often */
  dropped: number;
  /** Time of the last accepted event */
  sent_at: string | null;
  /** Why the last event that was not accepted was rejected or dropped */
  reason: string | null;
  /** Time of `reason` */
  reason_at: string | null;
}
export interface PixelUpdate {
  /** Advertising platform */
  platform?: PixelPlatform;
  /** Name */
  name?: string;
  /** ID of the pixel on its platform. It is never returned. */
  pixel_id?: string;
  /** Access token of the platform, for events sent from the server. It is never returned. */
  access_token?: string | null;
}
/** Parameters of the operation: List pixels */
export interface PixelsListQuery {
  /**
     * Page number
     * @default 1
     */
  page?: number;
  /**
     * Items per page; the maximum is 100
     * @default 15
     */
  per_page?: number;
}
export interface Plan {
  /** Type of the plan */
  type: PlanType;
  /** Status of the subscription; null for other plans */
  status: string | null;
  /** Whether the plan permits requests to the API */
  active: boolean;
  /** End of the trial; null for other plans */
  trial_ends_at: string | null;
  /** When the subscription renews; null if it does not */
  renews_at: string | null;
}
/** Type of a plan */
export type PlanType = "trial" | "subscription" | "lifetime" | "none";
export interface PreviousStats {
  /** Start of the earlier time range */
  from: string;
  /** End of the earlier time range, exclusive */
  to: string;
  /** Number of clicks by people, including QR code scans */
  clicks: number;
  /** Number of unique visitors. A visitor counts once per UTC day. Null for several links on days whose clicks were deleted */
  visitors: number | null;
  /** Number of QR code scans, included in `clicks` */
  scans: number;
  /** Numbers for each interval of the earlier time range */
  series: StatsEntry[];
}
export interface QrCode {
  /** ID */
  id: string;
  /** ID of the link */
  link_id: string;
  /** Color of the code, such as #000 or #000000 */
  foreground: string;
  /** Background color, such as #fff or #ffffff */
  background: string;
  /** Error correction of the image, which a logo raises as needed */
  level: ErrorCorrection;
  /** Shape of the modules */
  style: ModuleStyle;
  /** Width and height of the PNG image in pixels */
  size: number;
  /** Empty space around the code, in modules. The standard is 4. */
  margin: number;
  /** Width of the PDF in millimeters */
  width_mm: number;
  /** Whether to show the logo of the domain, or else of the account */
  logo: boolean;
  /** Longer side of the logo, as a fraction of the code's width */
  logo_size: number;
  /** Frame around the code: none, or with text at the bottom */
  frame: FrameStyle;
  /** Text of the frame */
  frame_text: string;
  /** Why scanners may not read the code */
  warnings: string[];
  /** Number of scans of the code */
  scans: number;
  /** Signed URL of the PNG image; use it unchanged */
  image_url: string;
  /** Signed URL of the SVG image; use it unchanged */
  svg_url: string;
  /** Signed URL of the PDF file, which is drawn in lines and areas for print; use it unchanged */
  pdf_url: string;
  /** Time of creation */
  created_at: string;
  /** Time of the last change */
  updated_at: string;
}
export interface QrCodeArchive {
  /** IDs of links, 1 to 1,000. Send one of `ids`, `tag` and `hostname` */
  ids?: string[] | null;
  /** All links that have the tag */
  tag?: string | null;
  /** All links on the domain */
  hostname?: string | null;
  /** Format of the images */
  format?: ImageFormat | null;
  /** Names of the files without their ending: text with `{slug}`, `{title}`, `{hostname}` and `{id}` */
  name?: string | null;
}
export interface QrCodeSheet {
  /** IDs of links, 1 to 1,000. Send one of `ids`, `tag` and `hostname` */
  ids?: string[] | null;
  /** All links that have the tag */
  tag?: string | null;
  /** All links on the domain */
  hostname?: string | null;
  /** Sheet of Avery: 189 labels of 25.4 by 10 mm, or 21 of 63.5 by 38.1 mm */
  labels?: LabelSheet | null;
  /** Own grid in place of `labels` */
  grid?: LabelGridInput | null;
  /** Text of each label, cut to fit */
  caption?: LabelCaption | null;
  /** Label to start at, on a sheet of which some are used */
  start?: number | null;
  /** Labels of each code */
  copies?: number | null;
}
export interface QrCodeStyle {
  /** Color of the code, such as #000 or #000000 */
  foreground?: string | null;
  /** Background color, such as #fff or #ffffff */
  background?: string | null;
  /** Error correction, from L (lowest) to H (highest) */
  level?: ErrorCorrection;
  /** Shape of the modules */
  style?: ModuleStyle;
  /** Width and height of the PNG image in pixels */
  size?: number | null;
  /** Empty space around the code, in modules. The standard is 4. */
  margin?: number | null;
  /** Width of the PDF in millimeters */
  width_mm?: number | null;
  /** Whether to show the logo of the domain, or else of the account */
  logo?: boolean | null;
  /** Longer side of the logo, as a fraction of the code's width */
  logo_size?: number | null;
  /** Frame around the code: none, or with text at the bottom */
  frame?: FrameStyle;
  /** Text of the frame */
  frame_text?: string | null;
}
export interface Routing {
  /** ID of the link */
  link_id: string;
  /** At most 20 rules; the first that matches counts */
  rules: Rule[];
  /** At most 10 variants, for visitors without a matching rule. The weights add up to at most 100 */
  variants: Variant[];
  /** Time before which the link does not redirect; null for no start */
  starts_at: string | null;
  /** Number of clicks after which the link ends; null for no limit */
  click_limit: number | null;
  /** URL for visitors before the start, after the click limit, and of an expired link; null for an error page */
  fallback_url: string | null;
  /** Whether visitors have to enter a password */
  has_password: boolean;
  /** Time of the last change */
  updated_at: string | null;
}
export interface RoutingInput {
  /** At most 20 rules; the first that matches counts */
  rules?: RuleInput[] | null;
  /** At most 10 variants, for visitors without a matching rule. The weights add up to at most 100 */
  variants?: VariantInput[] | null;
  /** 4 to 128 characters that visitors have to enter; null removes it, and without this field it stays. It is never returned. */
  password?: string | null;
  /** Time before which the link does not redirect; null for no start */
  starts_at?: TimeInput | null;
  /** Number of clicks after which the link ends; null for no limit */
  click_limit?: number | null;
  /** URL for visitors before the start, after the click limit, and of an expired link; null for an error page */
  fallback_url?: string | null;
}
export interface Rule {
  /** Name */
  name: string;
  /** 1 to 5 conditions, all of which must hold */
  conditions: Condition[];
  /** http:// or https:// URL that visitors are redirected to. It gets no UTM parameters */
  destination_url: string;
}
export interface RuleInput {
  /** Name */
  name: string;
  /** 1 to 5 conditions, all of which must hold */
  conditions: ConditionInput[];
  /** http:// or https:// URL that visitors are redirected to. It gets no UTM parameters */
  destination_url: string;
}
/** What an API key may do */
export type Scope = "links:read" | "links:write" | "domains:read" | "domains:write" | "pixels:read" | "pixels:write" | "webhooks:manage";
export interface Share {
  /** Start of the time range that can be seen; null for no limit */
  from: string | null;
  /** ID */
  id: string;
  /** Name, which visitors see */
  name: string;
  /** ID of the link whose statistics are shown */
  link_id: string | null;
  /** Tag of the links whose statistics are shown */
  tag: string | null;
  /** Hostname of the links whose statistics are shown */
  hostname: string | null;
  /** Only clicks that match are shown */
  filters: Filters;
  /** End of the time range that can be seen, exclusive; null for no limit */
  to: string | null;
  /** Whether visitors have to enter a password */
  has_password: boolean;
  /** Time of expiry; null for never */
  expires_at: string | null;
  /** Entries with fewer clicks are summed up as `(other)`, and smaller totals are not shown. 0 shows all */
  hide_below: number;
  /** Origins of pages that may embed the statistics: https, or http on localhost */
  embed_origins: string[];
  /** URL of the statistics; null unless the key has `links:write` */
  url: string | null;
  /** URL for a frame in pages of `embed_origins`; null without these, and unless the key has `links:write` */
  embed_url: string | null;
  /** Time of creation */
  created_at: string;
  /** Time of the last change */
  updated_at: string;
}
export interface ShareCreate {
  /** Name, which visitors see */
  name: string;
  /** ID of the link whose statistics are shown */
  link_id?: string | null;
  /** Tag of the links whose statistics are shown */
  tag?: string | null;
  /** Hostname of the links whose statistics are shown */
  hostname?: string | null;
  /** Filters as in statistics, each with a value or a list of values. Only clicks that match are shown */
  filters?: FiltersInput;
  /** Start of the time range that can be seen; null for no limit */
  from?: TimeInput | null;
  /** End of the time range that can be seen, exclusive; null for no limit */
  to?: TimeInput | null;
  /** 4 to 128 characters that visitors have to enter; null for none. It is never returned. */
  password?: string | null;
  /** Time of expiry; null for never */
  expires_at?: TimeInput | null;
  /** Entries with fewer clicks are summed up as `(other)`, and smaller totals are not shown. 0 shows all */
  hide_below?: number | null;
  /** Origins of pages that may embed the statistics: https, or http on localhost */
  embed_origins?: string[] | null;
}
export interface ShareUpdate {
  /** Name, which visitors see */
  name?: string;
  /** ID of the link whose statistics are shown */
  link_id?: string | null;
  /** Tag of the links whose statistics are shown */
  tag?: string | null;
  /** Hostname of the links whose statistics are shown */
  hostname?: string | null;
  /** Filters as in statistics, each with a value or a list of values. Only clicks that match are shown */
  filters?: FiltersInput | null;
  /** Start of the time range that can be seen; null for no limit */
  from?: TimeInput | null;
  /** End of the time range that can be seen, exclusive; null for no limit */
  to?: TimeInput | null;
  /** 4 to 128 characters that visitors have to enter; null for none. It is never returned. */
  password?: string | null;
  /** Time of expiry; null for never */
  expires_at?: TimeInput | null;
  /** Entries with fewer clicks are summed up as `(other)`, and smaller totals are not shown. 0 shows all */
  hide_below?: number | null;
  /** Origins of pages that may embed the statistics: https, or http on localhost */
  embed_origins?: string[] | null;
}
/** Parameters of the operation: List shares */
export interface SharesListQuery {
  /**
     * Page number
     * @default 1
     */
  page?: number;
  /**
     * Items per page; the maximum is 100
     * @default 15
     */
  per_page?: number;
}
/** Characters of generated slugs */
export type SlugAlphabet = "mixed" | "lower" | "digits";
/** The earlier time range: just before, or a year earlier */
export type StatsComparison = "previous_period" | "previous_year";
export interface StatsEntry {
  /** Start of the interval, in UTC */
  at: string;
  /** Number of clicks by people, including QR code scans */
  clicks: number;
  /** Number of unique visitors. A visitor counts once per UTC day. Null for several links on days whose clicks were deleted */
  visitors: number | null;
  /** Number of QR code scans, included in `clicks` */
  scans: number;
}
/** Parameters of the operation: Get statistics of all links */
export interface StatsGetQuery {
  /** Start of the time range */
  from?: TimeInput;
  /** End of the time range, exclusive */
  to?: TimeInput;
  /**
     * Length of one entry of the series
     * @default day
     */
  interval?: StatsInterval;
  /**
     * IANA name of the time zone of the series
     * @default UTC
     */
  timezone?: string;
  /** Adds `previous`: the period before, as many days earlier, or the same dates a year earlier */
  compare?: StatsComparison;
  /**
     * Adds the visitors of each entry to lists
     * @default false
     */
  visitors?: boolean;
  /** Two-letter country codes, or `unknown`; `-` before one excludes it */
  country?: string | string[];
  /** Types of device: desktop, mobile, tablet, other; `-` before one excludes it */
  device?: string | string[];
  /** Browser families, or `unknown`; `-` before one excludes it */
  browser?: string | string[];
  /** Operating system families, or `unknown`; `-` before one excludes it */
  platform?: string | string[];
  /** Origin and path of the referring page, a host for all its pages, or `direct`; `-` before one excludes it */
  referrer?: string | string[];
  /** Names of rules and variants, or `default`; `-` before one excludes it */
  target?: string | string[];
  /** `true` for scans of QR codes, `false` for other clicks; `-` before one excludes it */
  is_scan?: string | string[];
  /** IDs of links; `-` before one excludes it */
  link_id?: string | string[];
  /** Tags that links have now, `none` for links without tags; `-` before one excludes it */
  tag?: string | string[];
  /** Hostnames of links; `-` before one excludes it */
  hostname?: string | string[];
  /** UTM sources of links, `none` for links without one; `-` before one excludes it */
  utm_source?: string | string[];
  /** UTM mediums of links, `none` for links without one; `-` before one excludes it */
  utm_medium?: string | string[];
  /** UTM campaigns of links, `none` for links without one; `-` before one excludes it */
  utm_campaign?: string | string[];
  /** UTM terms of links, `none` for links without one; `-` before one excludes it */
  utm_term?: string | string[];
  /** UTM contents of links, `none` for links without one; `-` before one excludes it */
  utm_content?: string | string[];
}
/** Length of an entry of a series */
export type StatsInterval = "hour" | "day" | "week" | "month";
export interface Tag {
  /** ID */
  id: string;
  /** Name; upper and lower case differ */
  name: string;
  /** Color of the tag in the dashboard */
  color: TagColor;
  /** Number of links that have the tag */
  links_count: number;
  /** Sum of the clicks of these links; some minutes old on a page of tags with very many links */
  clicks: number;
  /** Time of creation */
  created_at: string;
  /** Time of the last change */
  updated_at: string;
}
/** Color of a tag in the dashboard */
export type TagColor = "gray" | "red" | "orange" | "yellow" | "green" | "teal" | "blue" | "violet" | "pink";
export interface TagCreate {
  /** Name; upper and lower case differ */
  name: string;
  /** Color of the tag in the dashboard */
  color?: TagColor;
}
export interface TagUpdate {
  /** Name; upper and lower case differ */
  name?: string;
  /** Color of the tag in the dashboard */
  color?: TagColor;
}
/** Parameters of the operation: List tags */
export interface TagsListQuery {
  /**
     * Page number
     * @default 1
     */
  page?: number;
  /**
     * Items per page; the maximum is 100
     * @default 15
     */
  per_page?: number;
  /** Text in the name, in upper or lower case */
  search?: string;
}
/** Parameters of the operation: List campaign templates */
export interface TemplatesListQuery {
  /**
     * Page number
     * @default 1
     */
  page?: number;
  /**
     * Items per page; the maximum is 100
     * @default 15
     */
  per_page?: number;
}
export interface TestEventData {
  /** ID of the webhook */
  webhook_id: string;
}
/** A time as text in ISO 8601, with a time zone, or as a `Date` */
export type TimeInput = string | Date;
export interface Tls {
  /** Status of the certificate */
  status: TlsStatus;
  /** When the certificate expires; null if there is none */
  expires_at: string | null;
  /** Why the last attempt failed; null if it did not */
  error: string | null;
}
/** Status of a certificate */
export type TlsStatus = "none" | "pending" | "active" | "failed";
export interface TopLink {
  /** ID of the link */
  link_id: string;
  /** Short URL of the link; null for a deleted link */
  short_url: string | null;
  /** Title of the link; null for a deleted link */
  title: string | null;
  /** Number of clicks by people, including QR code scans */
  clicks: number;
  /** Number of unique visitors, if `visitors=true` was sent; null if clicks of some days were deleted */
  visitors?: number | null;
}
export interface UtmParams {
  /** Source of the visitors, such as newsletter */
  utm_source?: string;
  /** Medium, such as email */
  utm_medium?: string;
  /** Campaign */
  utm_campaign?: string;
  /** Search term */
  utm_term?: string;
  /** Content, which distinguishes links of a campaign */
  utm_content?: string;
}
export interface UtmParamsInput {
  /** Source of the visitors, such as newsletter */
  utm_source?: string | null;
  /** Medium, such as email */
  utm_medium?: string | null;
  /** Campaign */
  utm_campaign?: string | null;
  /** Search term */
  utm_term?: string | null;
  /** Content, which distinguishes links of a campaign */
  utm_content?: string | null;
}
export interface UtmTemplate {
  /** ID */
  id: string;
  /** Name */
  name: string;
  /** UTM parameters, at least one */
  utm_params: UtmParams;
  /** Time of creation */
  created_at: string;
  /** Time of the last change */
  updated_at: string;
}
export interface UtmTemplateCreate {
  /** Name, unique in the account */
  name: string;
  /** UTM parameters, at least one */
  utm_params: UtmParamsInput;
}
export interface UtmTemplateUpdate {
  /** Name, unique in the account */
  name?: string;
  /** UTM parameters, at least one */
  utm_params?: UtmParamsInput;
}
export interface ValueCount {
  /** Value */
  value: string;
  /** Number of clicks by people, including QR code scans */
  clicks: number;
  /** Number of unique visitors, if `visitors=true` was sent; null if clicks of some days were deleted */
  visitors?: number | null;
}
export interface Variant {
  /** Name */
  name: string;
  /** http:// or https:// URL that visitors are redirected to. It gets no UTM parameters */
  destination_url: string;
  /** Percentage of the visitors, 1 to 100 */
  weight: number;
}
export interface VariantInput {
  /** Name */
  name: string;
  /** http:// or https:// URL that visitors are redirected to. It gets no UTM parameters */
  destination_url: string;
  /** Percentage of the visitors, 1 to 100 */
  weight: number;
}
export interface Webhook {
  /** ID */
  id: string;
  /** https:// URL that receives the events */
  url: string;
  /** Event types that are delivered */
  event_types: EventType[];
  /** Time of creation */
  created_at: string;
  /** Time of the last change */
  updated_at: string;
}
export interface WebhookCreate {
  /** https:// URL that receives the events */
  url: string;
  /** Event types that are delivered */
  event_types: EventType[];
}
export interface WebhookTestEvent {
  /** ID of the delivery: the same in each attempt, another for each webhook */
  id: string;
  /**
     * Version of the format
     * @constant
     */
  api_version: "v1";
  /**
     * Event type, such as `link.created`
     * @constant
     */
  event: "webhook.test";
  /** Time of the event, in UTC */
  created_at: string;
  /** What happened */
  data: TestEventData;
}
/** Parameters of the operation: List a webhook's deliveries */
export interface WebhooksListDeliveriesQuery {
  /**
     * Page number
     * @default 1
     */
  page?: number;
  /**
     * Items per page; the maximum is 100
     * @default 15
     */
  per_page?: number;
  /** Status of the delivery */
  status?: DeliveryStatus;
  /** Type of the event */
  event?: DeliveryEventType;
}
/** Parameters of the operation: List webhooks */
export interface WebhooksListQuery {
  /**
     * Page number
     * @default 1
     */
  page?: number;
  /**
     * Items per page; the maximum is 100
     * @default 15
     */
  per_page?: number;
}

/** What a webhook receives. A newer service may send events of other types. */
export type WebhookEvent = LinkClickedEvent | LinkCreatedEvent | PixelFiredEvent | WebhookTestEvent;

/** The methods of the client: one class for each group of operations in the OpenAPI document. */

import type { Pages } from "./pages.js";
import { readData, readMany } from "./responses.js";
import { type CallOptions, type ChangeOptions, type CreateOptions, type ImageFile, path, type Sender } from "./sender.js";
import type * as types from "./types.js";

/** A link whose preview image is a file: JPEG, PNG, WebP or GIF of at most 2 MB. It replaces `og_image`. */
export type WithImage<T> = T & { og_image_file?: ImageFile | null };

class Resource {
  /** @internal */
  protected readonly sender: Sender;

  /** @internal */
  constructor(sender: Sender) {
    this.sender = sender;
  }
}

export class Account extends Resource {
  /** Get the account, its plan, and the key of the request. */
  get(options?: CallOptions): Promise<types.Me> {
    return this.sender.send(readData, "GET", "me", {}, options);
  }
}

export class Clicks extends Resource {
  /** List clicks of all links, newest first. Bots and link previews are not clicks; request them by `kind`. */
  list(query?: types.ClicksListQuery, options?: CallOptions): Pages<types.Click> {
    return this.sender.pages("clicks", query, options);
  }
}

export class Domains extends Resource {
  /** Create a domain. Set one of its DNS records, then verify it. */
  create(domain: types.DomainCreate, options?: CreateOptions): Promise<types.Domain> {
    return this.sender.send(readData, "POST", "domains", { body: domain }, options);
  }

  /** Delete a domain. Its links move to the shared domain immediately. */
  delete(id: string, options?: ChangeOptions): Promise<void> {
    return this.sender.send(readData, "DELETE", path`domains/${id}`, {}, options);
  }

  /** Delete a domain's logo: QR codes of its links show that of the account. */
  deleteLogo(id: string, options?: ChangeOptions): Promise<void> {
    return this.sender.send(readData, "DELETE", path`domains/${id}/logo`, {}, options);
  }

  /** Get a domain with the result of its last check, its DNS records and its HTTPS certificate. */
  get(id: string, options?: CallOptions): Promise<types.Domain> {
    return this.sender.send(readData, "GET", path`domains/${id}`, {}, options);
  }

  /** Get a domain's app links. A domain without app links has nulls. */
  getAppLinks(id: string, options?: CallOptions): Promise<types.AppLinks> {
    return this.sender.send(readData, "GET", path`domains/${id}/app-links`, {}, options);
  }

  /** Get what the pages for visitors of a domain have of their own. */
  getAppearance(id: string, options?: CallOptions): Promise<types.DomainAppearance> {
    return this.sender.send(readData, "GET", path`domains/${id}/appearance`, {}, options);
  }

  /** Get a domain's logo, which QR codes of its links show. */
  getLogo(id: string, options?: CallOptions): Promise<types.Logo> {
    return this.sender.send(readData, "GET", path`domains/${id}/logo`, {}, options);
  }

  /** Get a domain's options: defaults of its links. */
  getOptions(id: string, options?: CallOptions): Promise<types.DomainOptions> {
    return this.sender.send(readData, "GET", path`domains/${id}/options`, {}, options);
  }

  /** List domains, newest first. */
  list(query?: types.DomainsListQuery, options?: CallOptions): Pages<types.Domain> {
    return this.sender.pages("domains", query, options);
  }

  /** List what people tried on a domain in the last 30 days and no link has, most visits first. */
  listMissed(id: string, query?: types.DomainsListMissedQuery, options?: CallOptions): Pages<types.MissedAddress> {
    return this.sender.pages(path`domains/${id}/missed`, query, options);
  }

  /** Replace a domain's app links. A document that is left out or null is removed. */
  setAppLinks(id: string, documents: types.AppLinksInput, options?: ChangeOptions): Promise<types.AppLinks> {
    return this.sender.send(readData, "PUT", path`domains/${id}/app-links`, { body: documents }, options);
  }

  /** Upload a domain's logo: PNG, JPEG or WebP of at most 2 MB. */
  setLogo(id: string, file: ImageFile, options?: ChangeOptions): Promise<types.Logo> {
    return this.sender.send(readData, "PUT", path`domains/${id}/logo`, { body: { file } }, options);
  }

  /** Change what the pages for visitors of a domain have of their own. Null resets a field to its default. */
  updateAppearance(
    id: string,
    changes: types.DomainAppearanceUpdate,
    options?: ChangeOptions,
  ): Promise<types.DomainAppearance> {
    return this.sender.send(readData, "PATCH", path`domains/${id}/appearance`, { body: changes }, options);
  }

  /** Change options of a domain. Null resets one to its default. */
  updateOptions(
    id: string,
    changes: types.DomainOptionsUpdate,
    options?: ChangeOptions,
  ): Promise<types.DomainOptions> {
    return this.sender.send(readData, "PATCH", path`domains/${id}/options`, { body: changes }, options);
  }

  /** Change where the domain's root and unknown slugs redirect to. Null removes a URL. */
  update(id: string, changes: types.DomainUpdate, options?: ChangeOptions): Promise<types.Domain> {
    return this.sender.send(readData, "PATCH", path`domains/${id}`, { body: changes }, options);
  }

  /** Schedule a check of the domain's DNS records; get the domain to see the result. */
  verify(id: string, options?: CreateOptions): Promise<types.Domain> {
    return this.sender.send(readData, "POST", path`domains/${id}/verify`, {}, options);
  }
}

export class Keys extends Resource {
  /** List all API keys, newest first, also expired and revoked ones. Their text is never shown again. */
  list(options?: CallOptions): Promise<types.ListedApiKey[]> {
    return this.sender.send(readData, "GET", "tokens", {}, options);
  }
}

export class Links extends Resource {
  /** Create up to 100 links. Each succeeds or fails alone; send one with the status `retry` again. */
  bulkCreate(links: readonly types.LinkCreate[], options?: CreateOptions): Promise<types.BulkCreateResponse> {
    return this.sender.send(readMany, "POST", "links/bulk", { body: { links } }, options);
  }

  /** Delete up to 100 links. The short URLs return 404 immediately. */
  bulkDelete(ids: readonly string[], options?: CallOptions): Promise<types.BulkDeleteResponse> {
    return this.sender.send(readMany, "DELETE", "links/bulk", { body: { ids } }, options);
  }

  /** Change up to 100 links in the same way. A value that no link could have is refused, and nothing changes. */
  bulkUpdate(changes: types.BulkUpdate, options?: CallOptions): Promise<types.BulkUpdateResponse> {
    return this.sender.send(readMany, "PATCH", "links/bulk", { body: changes }, options);
  }

  /** List a link's clicks, newest first. */
  clicks(id: string, query?: types.LinksClicksQuery, options?: CallOptions): Pages<types.Click> {
    return this.sender.pages(path`links/${id}/clicks`, query, options);
  }

  /** Create a link. The destination is fetched once: it must be reachable, public and safe. */
  create(link: WithImage<types.LinkCreate>, options?: CreateOptions): Promise<types.Link> {
    return this.sender.send(readData, "POST", "links", { body: link }, options);
  }

  /** Create an alias: one more address of the link, at any path of a domain of the account. */
  createAlias(id: string, alias: types.AliasCreate, options?: CreateOptions): Promise<types.Alias> {
    return this.sender.send(readData, "POST", path`links/${id}/aliases`, { body: alias }, options);
  }

  /** Delete a link. The short URL returns 404 immediately. Only this account can use the slug again. */
  delete(id: string, options?: ChangeOptions): Promise<void> {
    return this.sender.send(readData, "DELETE", path`links/${id}`, {}, options);
  }

  /** Delete an alias. Its path can be used for another link. */
  deleteAlias(id: string, aliasId: string, options?: CallOptions): Promise<void> {
    return this.sender.send(readData, "DELETE", path`links/${id}/aliases/${aliasId}`, {}, options);
  }

  /** Send all visitors of the link to its own destination again. */
  deleteRouting(id: string, options?: ChangeOptions): Promise<void> {
    return this.sender.send(readData, "DELETE", path`links/${id}/routing`, {}, options);
  }

  /** Get a link. */
  get(id: string, options?: CallOptions): Promise<types.Link> {
    return this.sender.send(readData, "GET", path`links/${id}`, {}, options);
  }

  /** Get a link's options. Null means that the link follows its domain, or has no note or external ID. */
  getOptions(id: string, options?: CallOptions): Promise<types.LinkOptions> {
    return this.sender.send(readData, "GET", path`links/${id}/options`, {}, options);
  }

  /** Get what the regular visits of the link's destinations found. */
  getHealth(id: string, options?: CallOptions): Promise<types.LinkHealth> {
    return this.sender.send(readData, "GET", path`links/${id}/health`, {}, options);
  }

  /** Get where visitors of the link are sent. A link without routing has empty lists and nulls. */
  getRouting(id: string, options?: CallOptions): Promise<types.Routing> {
    return this.sender.send(readData, "GET", path`links/${id}/routing`, {}, options);
  }

  /** List links, newest first. */
  list(query?: types.LinksListQuery, options?: CallOptions): Pages<types.Link> {
    return this.sender.pages("links", query, options);
  }

  /** List a link's aliases, newest first. */
  listAliases(id: string, query?: types.LinksListAliasesQuery, options?: CallOptions): Pages<types.Alias> {
    return this.sender.pages(path`links/${id}/aliases`, query, options);
  }

  /** Replace where visitors of the link are sent. The password stays unless it is given; null removes it. */
  setRouting(id: string, routing: types.RoutingInput, options?: ChangeOptions): Promise<types.Routing> {
    return this.sender.send(readData, "PUT", path`links/${id}/routing`, { body: routing }, options);
  }

  /** Get a link's statistics. */
  stats(id: string, query?: types.LinksStatsQuery, options?: CallOptions): Promise<types.LinkStats> {
    return this.sender.send(readData, "GET", path`links/${id}/stats`, { query }, options);
  }

  /** Change the fields of a link that are given. Null removes a value. */
  update(id: string, changes: WithImage<types.LinkUpdate>, options?: ChangeOptions): Promise<types.Link> {
    return this.sender.send(readData, "PATCH", path`links/${id}`, { body: changes }, options);
  }

  /** Change options of a link. Null resets one. */
  updateOptions(id: string, changes: types.LinkOptionsUpdate, options?: ChangeOptions): Promise<types.LinkOptions> {
    return this.sender.send(readData, "PATCH", path`links/${id}/options`, { body: changes }, options);
  }

  /** Create the link with this external ID, or change the fields that are given. Several calls at once make one link. */
  upsert(externalId: string, link: WithImage<types.LinkUpsert>, options?: ChangeOptions): Promise<types.Link> {
    return this.sender.send(readData, "PUT", path`links/by-external-id/${externalId}`, { body: link }, options);
  }
}

export class Pixels extends Resource {
  /** Create a pixel. */
  create(pixel: types.PixelCreate, options?: CreateOptions): Promise<types.Pixel> {
    return this.sender.send(readData, "POST", "pixels", { body: pixel }, options);
  }

  /** Delete a pixel. Its links keep working without it. */
  delete(id: string, options?: ChangeOptions): Promise<void> {
    return this.sender.send(readData, "DELETE", path`pixels/${id}`, {}, options);
  }

  /** Get a pixel. */
  get(id: string, options?: CallOptions): Promise<types.Pixel> {
    return this.sender.send(readData, "GET", path`pixels/${id}`, {}, options);
  }

  /** List pixels, newest first. */
  list(query?: types.PixelsListQuery, options?: CallOptions): Pages<types.Pixel> {
    return this.sender.pages("pixels", query, options);
  }

  /** Get the results of a pixel's server-side events. */
  results(id: string, options?: CallOptions): Promise<types.PixelResults> {
    return this.sender.send(readData, "GET", path`pixels/${id}/results`, {}, options);
  }

  /** Change the fields of a pixel that are given. */
  update(id: string, changes: types.PixelUpdate, options?: ChangeOptions): Promise<types.Pixel> {
    return this.sender.send(readData, "PATCH", path`pixels/${id}`, { body: changes }, options);
  }
}

export class Qrcodes extends Resource {
  /** Get the images of many QR codes as a ZIP file. */
  archive(archive: types.QrCodeArchive, options?: CallOptions): Promise<Uint8Array<ArrayBuffer>> {
    return this.sender.fetchFile("POST", "qrcodes/archive", archive, options);
  }

  /** Delete the account's logo. */
  deleteLogo(options?: ChangeOptions): Promise<void> {
    return this.sender.send(readData, "DELETE", "qrcodes/logo", {}, options);
  }

  /** Get a link's QR code: its style, and signed URLs of its image. */
  get(id: string, options?: CallOptions): Promise<types.QrCode> {
    return this.sender.send(readData, "GET", path`links/${id}/qrcode`, {}, options);
  }

  /** Get the account's logo, which QR codes show. */
  getLogo(options?: CallOptions): Promise<types.Logo> {
    return this.sender.send(readData, "GET", "qrcodes/logo", {}, options);
  }

  /** Return the image at a signed URL: `image_url`, `svg_url` or `pdf_url` of a QR code. */
  image(url: string, options?: CallOptions): Promise<Uint8Array<ArrayBuffer>> {
    return this.sender.download(url, options);
  }

  /** Get labels with many QR codes as a PDF file. */
  sheet(sheet: types.QrCodeSheet, options?: CallOptions): Promise<Uint8Array<ArrayBuffer>> {
    return this.sender.fetchFile("POST", "qrcodes/sheet", sheet, options);
  }

  /** Upload the account's logo: PNG, JPEG or WebP of at most 2 MB. */
  setLogo(file: ImageFile, options?: ChangeOptions): Promise<types.Logo> {
    return this.sender.send(readData, "PUT", "qrcodes/logo", { body: { file } }, options);
  }

  /** Set the style of a link's QR code. What is left out gets its default. */
  setStyle(id: string, style: types.QrCodeStyle, options?: CreateOptions & ChangeOptions): Promise<types.QrCode> {
    return this.sender.send(readData, "POST", path`links/${id}/qrcode`, { body: style }, options);
  }
}

export class Shares extends Resource {
  /** Create a share: a URL that shows statistics to people without an account. */
  create(share: types.ShareCreate, options?: CreateOptions): Promise<types.Share> {
    return this.sender.send(readData, "POST", "shares", { body: share }, options);
  }

  /** Delete a share. Its URLs stop working at once. */
  delete(id: string, options?: ChangeOptions): Promise<void> {
    return this.sender.send(readData, "DELETE", path`shares/${id}`, {}, options);
  }

  /** Get a share. */
  get(id: string, options?: CallOptions): Promise<types.Share> {
    return this.sender.send(readData, "GET", path`shares/${id}`, {}, options);
  }

  /** List shares, newest first. */
  list(query?: types.SharesListQuery, options?: CallOptions): Pages<types.Share> {
    return this.sender.pages("shares", query, options);
  }

  /** Change the fields of a share that are given. Null removes a value. */
  update(id: string, changes: types.ShareUpdate, options?: ChangeOptions): Promise<types.Share> {
    return this.sender.send(readData, "PATCH", path`shares/${id}`, { body: changes }, options);
  }
}

export class Stats extends Resource {
  /** Get the statistics of all links. */
  get(query?: types.StatsGetQuery, options?: CallOptions): Promise<types.AccountStats> {
    return this.sender.send(readData, "GET", "stats", { query }, options);
  }
}

export class Tags extends Resource {
  /** Create a tag. A tag that a link names exists already. */
  create(tag: types.TagCreate, options?: CreateOptions): Promise<types.Tag> {
    return this.sender.send(readData, "POST", "tags", { body: tag }, options);
  }

  /** Delete a tag, and remove it from its links. */
  delete(id: string, options?: ChangeOptions): Promise<void> {
    return this.sender.send(readData, "DELETE", path`tags/${id}`, {}, options);
  }

  /** Get a tag with its links and clicks. */
  get(id: string, options?: CallOptions): Promise<types.Tag> {
    return this.sender.send(readData, "GET", path`tags/${id}`, {}, options);
  }

  /** List tags in alphabetical order. */
  list(query?: types.TagsListQuery, options?: CallOptions): Pages<types.Tag> {
    return this.sender.pages("tags", query, options);
  }

  /** Change the name of a tag in all its links, or its color. With the name of another tag, the two become one. */
  update(id: string, changes: types.TagUpdate, options?: ChangeOptions): Promise<types.Tag> {
    return this.sender.send(readData, "PATCH", path`tags/${id}`, { body: changes }, options);
  }
}

export class Templates extends Resource {
  /** Create a campaign template: UTM parameters with a name. Links do not change with it. */
  create(template: types.UtmTemplateCreate, options?: CreateOptions): Promise<types.UtmTemplate> {
    return this.sender.send(readData, "POST", "utm-templates", { body: template }, options);
  }

  /** Delete a campaign template. Links that it filled stay as they are. */
  delete(id: string, options?: ChangeOptions): Promise<void> {
    return this.sender.send(readData, "DELETE", path`utm-templates/${id}`, {}, options);
  }

  /** Get a campaign template. */
  get(id: string, options?: CallOptions): Promise<types.UtmTemplate> {
    return this.sender.send(readData, "GET", path`utm-templates/${id}`, {}, options);
  }

  /** List campaign templates by name. */
  list(query?: types.TemplatesListQuery, options?: CallOptions): Pages<types.UtmTemplate> {
    return this.sender.pages("utm-templates", query, options);
  }

  /** Change the fields of a campaign template that are given. The parameters are replaced together. */
  update(id: string, changes: types.UtmTemplateUpdate, options?: ChangeOptions): Promise<types.UtmTemplate> {
    return this.sender.send(readData, "PATCH", path`utm-templates/${id}`, { body: changes }, options);
  }
}

export class Webhooks extends Resource {
  /** Create a webhook. Only this response contains its signing secret. */
  create(webhook: types.WebhookCreate, options?: CreateOptions): Promise<types.CreatedWebhook> {
    return this.sender.send(readData, "POST", "webhooks", { body: webhook }, options);
  }

  /** Delete a webhook. Its pending deliveries are canceled. */
  delete(id: string, options?: ChangeOptions): Promise<void> {
    return this.sender.send(readData, "DELETE", path`webhooks/${id}`, {}, options);
  }

  /** Get a webhook. */
  get(id: string, options?: CallOptions): Promise<types.Webhook> {
    return this.sender.send(readData, "GET", path`webhooks/${id}`, {}, options);
  }

  /** List webhooks, newest first. */
  list(query?: types.WebhooksListQuery, options?: CallOptions): Pages<types.Webhook> {
    return this.sender.pages("webhooks", query, options);
  }

  /** List a webhook's deliveries, newest first. */
  listDeliveries(
    id: string,
    query?: types.WebhooksListDeliveriesQuery,
    options?: CallOptions,
  ): Pages<types.Delivery> {
    return this.sender.pages(path`webhooks/${id}/deliveries`, query, options);
  }

  /** Send a delivery again. */
  redeliver(id: string, deliveryId: string, options?: CreateOptions): Promise<types.Delivery> {
    return this.sender.send(readData, "POST", path`webhooks/${id}/deliveries/${deliveryId}/redeliver`, {}, options);
  }

  /** Send the event `webhook.test` to the webhook. */
  sendTest(id: string, options?: CreateOptions): Promise<types.Delivery> {
    return this.sender.send(readData, "POST", path`webhooks/${id}/test`, {}, options);
  }
}


SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;
COMMENT ON EXTENSION pg_trgm IS 'text similarity measurement and index searching based on trigrams';
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.accounts (
    id uuid NOT NULL,
    email character varying(254) NOT NULL,
    name text NOT NULL,
    plan_type text NOT NULL,
    plan_status text,
    trial_ends_at timestamp with time zone,
    renews_at timestamp with time zone,
    links_count integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    image_bytes bigint DEFAULT '0'::bigint NOT NULL,
    suspended_at timestamp with time zone,
    suspended_reason text,
    required_factor text DEFAULT 'none'::text NOT NULL,
    label_changes integer DEFAULT 0 NOT NULL
);
CREATE TABLE public.acme_accounts (
    id uuid NOT NULL,
    directory text NOT NULL,
    url text NOT NULL,
    key bytea NOT NULL
);
CREATE TABLE public.acme_challenges (
    token text NOT NULL,
    key_authorization text NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.acme_orders (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    ordered_at timestamp with time zone NOT NULL
);
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL,
    compatible_since text
);
CREATE TABLE public.api_keys (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    name text NOT NULL,
    prefix text NOT NULL,
    digest character varying(64) NOT NULL,
    scopes jsonb NOT NULL,
    last_used_at timestamp with time zone,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    created_by uuid
);
CREATE TABLE public.audit_entries (
    account_id uuid NOT NULL,
    id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    actor_type text NOT NULL,
    actor_id uuid,
    actor_name text NOT NULL,
    ip text,
    action text NOT NULL,
    item_id uuid,
    item text NOT NULL,
    changes jsonb,
    details jsonb
);
CREATE TABLE public.bulk_changes (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    kind text NOT NULL,
    payload jsonb NOT NULL,
    state text NOT NULL,
    total integer NOT NULL,
    done integer NOT NULL,
    changed integer NOT NULL,
    refused jsonb NOT NULL,
    refused_count integer NOT NULL,
    cursor jsonb,
    step jsonb,
    created_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone
);
CREATE TABLE public.certificates (
    id uuid NOT NULL,
    hostname text NOT NULL COLLATE pg_catalog."C",
    chain text,
    key bytea,
    expires_at timestamp with time zone,
    error text,
    failures smallint NOT NULL,
    due_at timestamp with time zone,
    try_at timestamp with time zone,
    leased_until timestamp with time zone,
    is_own boolean NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.click_dimensions (
    day integer NOT NULL,
    subject_id uuid NOT NULL,
    dimension smallint NOT NULL,
    value text NOT NULL,
    clicks integer DEFAULT 0 NOT NULL
)
WITH (fillfactor='80');
CREATE TABLE public.click_retention (
    id integer NOT NULL,
    kept_since integer NOT NULL
);
CREATE TABLE public.click_totals (
    day integer NOT NULL,
    subject_id uuid NOT NULL,
    quarter smallint NOT NULL,
    clicks integer DEFAULT 0 NOT NULL,
    crawlers integer DEFAULT 0 NOT NULL,
    previews integer DEFAULT 0 NOT NULL,
    prefetches integer DEFAULT 0 NOT NULL,
    scans integer DEFAULT 0 NOT NULL,
    visitors integer DEFAULT 0 NOT NULL,
    new_in_15 integer DEFAULT 0 NOT NULL,
    new_in_30 integer DEFAULT 0 NOT NULL,
    new_in_45 integer DEFAULT 0 NOT NULL,
    firsts integer DEFAULT 0 NOT NULL,
    lasts integer DEFAULT 0 NOT NULL,
    first_at timestamp with time zone,
    last_at timestamp with time zone
)
WITH (fillfactor='80');
CREATE TABLE public.clicks (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    link_id uuid NOT NULL,
    day integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    bot text,
    is_scan boolean NOT NULL,
    ip text NOT NULL,
    country text NOT NULL,
    visitor_id bigint NOT NULL,
    referrer text NOT NULL,
    device text NOT NULL,
    browser text NOT NULL,
    platform text NOT NULL,
    target text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.deleted_links (
    bulk_change_id uuid NOT NULL,
    link_id uuid NOT NULL
);
CREATE TABLE public.disabled_links (
    link_id uuid NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL,
    was_enabled boolean NOT NULL,
    disabled_at timestamp with time zone NOT NULL
);
CREATE TABLE public.domain_app_links (
    domain_id uuid NOT NULL,
    version uuid NOT NULL,
    apple_app_site_association text,
    assetlinks text
);
CREATE TABLE public.domain_appearances (
    domain_id uuid NOT NULL,
    name text,
    color text,
    not_found_text text,
    expired_text text,
    not_started_text text,
    password_text text,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.domain_options (
    domain_id uuid NOT NULL,
    ignore_case boolean,
    updated_at timestamp with time zone NOT NULL,
    forward_query text,
    forward_path boolean,
    slug_length smallint,
    slug_alphabet text
);
CREATE TABLE public.domains (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    hostname text NOT NULL COLLATE pg_catalog."C",
    token text NOT NULL,
    status text NOT NULL,
    is_served boolean NOT NULL,
    verified_at timestamp with time zone,
    last_checked_at timestamp with time zone,
    error text,
    failures smallint NOT NULL,
    unverified_since timestamp with time zone,
    notified_at timestamp with time zone,
    root_url text,
    not_found_url text,
    links_count bigint NOT NULL,
    tls_status text NOT NULL,
    tls_expires_at timestamp with time zone,
    tls_error text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    needs_txt boolean DEFAULT false NOT NULL,
    is_default boolean DEFAULT false NOT NULL
);
CREATE TABLE public.idempotency_keys (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    key character varying(255) NOT NULL,
    request_id uuid NOT NULL,
    digest bytea NOT NULL,
    lease_until timestamp with time zone,
    status smallint,
    answer bytea,
    answer_bytes integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.identities (
    person_id uuid NOT NULL,
    issuer text NOT NULL,
    subject character varying(255) NOT NULL,
    email character varying(254) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone NOT NULL
);
CREATE TABLE public.import_checks (
    link_id uuid NOT NULL,
    account_id uuid NOT NULL,
    problem text,
    checked_at timestamp with time zone,
    import_id uuid
);
CREATE TABLE public.import_file_pieces (
    import_id uuid NOT NULL,
    start bigint NOT NULL,
    content bytea NOT NULL
);
CREATE TABLE public.import_refusals (
    import_id uuid NOT NULL,
    number integer NOT NULL,
    source_id text NOT NULL,
    reason text NOT NULL
);
CREATE TABLE public.imported_clicks (
    link_id uuid NOT NULL,
    account_id uuid NOT NULL,
    clicks bigint NOT NULL
);
CREATE TABLE public.imported_links (
    account_id uuid NOT NULL,
    key uuid NOT NULL,
    link_id uuid NOT NULL,
    digest text NOT NULL
);
CREATE TABLE public.imports (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    source text NOT NULL,
    options jsonb NOT NULL,
    has_page boolean NOT NULL,
    state text NOT NULL,
    message text,
    token bytea,
    file_name text,
    file_size bigint,
    plan jsonb NOT NULL,
    failures integer NOT NULL,
    cursor jsonb,
    counts jsonb NOT NULL,
    warnings jsonb NOT NULL,
    total integer,
    lease_until timestamp with time zone,
    leased_by text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    actor jsonb NOT NULL
);
CREATE TABLE public.invitations (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    email character varying(254),
    role text NOT NULL,
    digest character varying(64) NOT NULL,
    created_by uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone
);
CREATE TABLE public.jobs (
    id uuid NOT NULL,
    name text NOT NULL,
    payload jsonb NOT NULL,
    account_id uuid,
    run_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    max_attempts integer NOT NULL,
    lease_until timestamp with time zone,
    error text,
    failed_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    deaths integer DEFAULT 0 NOT NULL,
    queue text DEFAULT 'jobs'::text NOT NULL,
    rank smallint DEFAULT '0'::smallint NOT NULL
);
CREATE TABLE public.link_aliases (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    link_id uuid NOT NULL,
    domain_id uuid NOT NULL,
    path text NOT NULL,
    digest uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    folded uuid
);
CREATE TABLE public.link_clicks (
    link_id uuid NOT NULL,
    account_id uuid NOT NULL,
    clicks bigint NOT NULL,
    last_click_at timestamp with time zone
);
CREATE TABLE public.link_health (
    link_id uuid NOT NULL,
    account_id uuid NOT NULL,
    status text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    checked_at timestamp with time zone,
    http_status integer,
    reason text,
    since timestamp with time zone,
    failures integer NOT NULL,
    gone_days integer NOT NULL,
    held jsonb
);
CREATE TABLE public.link_images (
    name text NOT NULL,
    content bytea NOT NULL,
    digest bytea NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.link_images ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE TABLE public.link_pixels (
    link_id uuid NOT NULL,
    "position" smallint NOT NULL,
    pixel_id uuid NOT NULL
);
CREATE TABLE public.link_reports (
    id uuid NOT NULL,
    link_id uuid NOT NULL,
    reason text NOT NULL,
    text text NOT NULL,
    email text,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.link_routing (
    link_id uuid NOT NULL,
    account_id uuid NOT NULL,
    rules text,
    variants text,
    fallback_url text,
    password_hash text,
    password_version bigint,
    unsafe_urls text,
    checked_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.link_tags (
    account_id uuid NOT NULL,
    tag text NOT NULL,
    link_id uuid NOT NULL
);
CREATE TABLE public.links (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    destination_url text NOT NULL,
    title text NOT NULL,
    og_title text,
    og_description text,
    og_image text,
    og_image_file_name text,
    utm_params jsonb NOT NULL,
    tags jsonb NOT NULL,
    search_text text NOT NULL,
    expires_at timestamp with time zone,
    is_enabled boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    domain_id uuid,
    og_image_bytes integer DEFAULT 0 NOT NULL,
    starts_at timestamp with time zone,
    click_limit integer,
    created_by text,
    changed_by text,
    folded_slug text COLLATE pg_catalog."C",
    forward_query text,
    forward_path boolean,
    note text,
    external_id text COLLATE pg_catalog."C"
);
CREATE TABLE public.logos (
    owner_id uuid NOT NULL,
    account_id uuid NOT NULL,
    name text NOT NULL,
    width smallint NOT NULL,
    height smallint NOT NULL,
    color text,
    content bytea NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.mail_rate_limits (
    digest character varying(64) NOT NULL,
    sent jsonb NOT NULL,
    sent_at timestamp with time zone NOT NULL
);
CREATE TABLE public.memberships (
    account_id uuid NOT NULL,
    person_id uuid NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    by_groups boolean DEFAULT false NOT NULL
);
CREATE TABLE public.missed_addresses (
    domain_id uuid NOT NULL,
    day integer NOT NULL,
    path text NOT NULL COLLATE pg_catalog."C",
    visits bigint NOT NULL,
    first_at timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL
);
CREATE TABLE public.one_time_tokens (
    digest character varying(64) NOT NULL,
    purpose text NOT NULL,
    person_id uuid,
    email character varying(254),
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
CREATE TABLE public.ownership_offers (
    account_id uuid NOT NULL,
    person_id uuid NOT NULL,
    offered_by uuid NOT NULL,
    role_after text NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.passkeys (
    id uuid NOT NULL,
    person_id uuid NOT NULL,
    credential_id bytea NOT NULL,
    public_key bytea NOT NULL,
    uses bigint NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone
);
CREATE TABLE public.past_emails (
    digest character varying(64) NOT NULL,
    trial_ends_at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone NOT NULL
);
CREATE TABLE public.people (
    id uuid NOT NULL,
    email character varying(254) NOT NULL,
    name text NOT NULL,
    password_hash text,
    confirmed_at timestamp with time zone,
    is_operator boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    timezone text,
    date_format text,
    number_format text
);
CREATE TABLE public.pixel_events (
    id uuid NOT NULL,
    pixel_id uuid NOT NULL,
    platform text NOT NULL,
    payload text NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.pixel_results (
    pixel_id uuid NOT NULL,
    sent bigint NOT NULL,
    rejected bigint NOT NULL,
    dropped bigint NOT NULL,
    sent_at timestamp with time zone,
    reason text,
    reason_at timestamp with time zone
);
CREATE TABLE public.pixels (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    platform text NOT NULL,
    name text NOT NULL,
    pixel_id bytea NOT NULL,
    access_token bytea,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.provider_sessions (
    session_id uuid NOT NULL,
    issuer text NOT NULL,
    subject character varying(255) NOT NULL,
    id character varying(255),
    id_token text NOT NULL
);
CREATE TABLE public.qr_scans (
    link_id uuid NOT NULL,
    scans bigint NOT NULL
)
WITH (fillfactor='80');
CREATE TABLE public.qr_styles (
    link_id uuid NOT NULL,
    foreground text NOT NULL,
    background text NOT NULL,
    level text NOT NULL,
    style text NOT NULL,
    size smallint NOT NULL,
    margin smallint NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    width_mm smallint DEFAULT 40 NOT NULL,
    logo boolean DEFAULT false NOT NULL,
    logo_size double precision DEFAULT '0.22'::double precision NOT NULL,
    frame text DEFAULT 'none'::text NOT NULL,
    frame_text text DEFAULT 'SCAN ME'::text NOT NULL
);
CREATE UNLOGGED TABLE public.rate_limits (
    key bytea NOT NULL,
    times timestamp with time zone[] NOT NULL,
    allowed smallint NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY public.rate_limits ALTER COLUMN times SET STORAGE PLAIN;
CREATE TABLE public.recovery_codes (
    digest character varying(64) NOT NULL,
    person_id uuid NOT NULL
);
CREATE TABLE public.report_subscriptions (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    person_id uuid NOT NULL,
    recipient character varying(64) NOT NULL,
    period text NOT NULL,
    tag text,
    link_id uuid,
    timezone text NOT NULL,
    sent_until timestamp with time zone,
    sent_at timestamp with time zone,
    problem text,
    created_at timestamp with time zone NOT NULL,
    tag_id uuid,
    attaches_links boolean DEFAULT false NOT NULL
);
CREATE TABLE public.reported_links (
    link_id uuid NOT NULL,
    account_id uuid NOT NULL,
    reports integer NOT NULL,
    mailed integer NOT NULL,
    mailed_at timestamp with time zone,
    first_at timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    outcome text
);
CREATE TABLE public.route_changes (
    id integer NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.route_changes_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.route_changes_id_seq OWNED BY public.route_changes.id;
CREATE TABLE public.saved_views (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    person_id uuid,
    name text NOT NULL,
    link_id uuid,
    query text NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.second_factors (
    person_id uuid NOT NULL,
    secret bytea NOT NULL,
    last_step bigint NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.secret_key_fingerprint (
    id integer NOT NULL,
    fingerprint bytea NOT NULL
);
CREATE TABLE public.service_reports (
    kind text NOT NULL,
    node text NOT NULL,
    at timestamp with time zone NOT NULL,
    content jsonb NOT NULL
);
CREATE TABLE public.sessions (
    id uuid NOT NULL,
    digest character varying(64) NOT NULL,
    person_id uuid NOT NULL,
    account_id uuid,
    user_agent text NOT NULL,
    ip text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    authenticated_at timestamp with time zone NOT NULL,
    passkey_id uuid,
    by_provider boolean DEFAULT false NOT NULL
);
CREATE TABLE public.shares (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    name text NOT NULL,
    link_id uuid,
    tag text,
    hostname text,
    filters jsonb NOT NULL,
    range_start timestamp with time zone,
    range_end timestamp with time zone,
    expires_at timestamp with time zone,
    hide_below smallint NOT NULL,
    embed_origins jsonb NOT NULL,
    token bytea NOT NULL,
    token_digest character varying(64) NOT NULL,
    password_hash text,
    access_version bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    tag_id uuid
);
CREATE TABLE public.sign_in_failures (
    slot integer NOT NULL,
    digest character varying(64) NOT NULL,
    failures integer NOT NULL,
    failed_at timestamp with time zone NOT NULL
);
CREATE TABLE public.slugs (
    slug text NOT NULL COLLATE pg_catalog."C",
    account_id uuid NOT NULL,
    link_id uuid
);
CREATE TABLE public.spool_positions (
    segment text NOT NULL,
    "position" bigint NOT NULL,
    pending_end bigint,
    pending_token text
);
CREATE TABLE public.stripe_checkouts (
    id text NOT NULL,
    account_id uuid NOT NULL,
    counted_at timestamp with time zone NOT NULL
);
CREATE TABLE public.stripe_customers (
    account_id uuid NOT NULL,
    customer_id text NOT NULL,
    ends_at timestamp with time zone,
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.stripe_events (
    id text NOT NULL,
    received_at timestamp with time zone NOT NULL
);
CREATE TABLE public.tags (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    folded_name text NOT NULL COLLATE pg_catalog."C",
    color text NOT NULL,
    links_count integer NOT NULL,
    clicks bigint NOT NULL,
    counted_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.top_values_cache (
    subject_id uuid NOT NULL,
    time_range text NOT NULL,
    account_id uuid NOT NULL,
    first_day integer NOT NULL,
    last_day integer NOT NULL,
    clicks bigint NOT NULL,
    top_values text NOT NULL,
    attempt uuid NOT NULL
);
CREATE TABLE public.unsubscribed_addresses (
    digest character varying(64) NOT NULL,
    unsubscribed_at timestamp with time zone NOT NULL
);
CREATE TABLE public.unverified_registrations (
    account_id uuid NOT NULL,
    hostname text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone NOT NULL,
    ended_at timestamp with time zone NOT NULL
);
CREATE TABLE public.utm_templates (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    name text NOT NULL,
    utm_params jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.verified_names (
    hostname text NOT NULL COLLATE pg_catalog."C",
    account_digest character varying(64) NOT NULL
);
CREATE TABLE public.visitor_days (
    day integer NOT NULL,
    visitor_id bigint NOT NULL,
    subject_id uuid NOT NULL,
    morning bigint NOT NULL,
    afternoon bigint NOT NULL
)
WITH (fillfactor='80');
CREATE TABLE public.webhook_deliveries (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    webhook_id uuid NOT NULL,
    event text NOT NULL,
    body text NOT NULL,
    status text NOT NULL,
    attempts smallint NOT NULL,
    next_attempt_at timestamp with time zone,
    leased_until timestamp with time zone,
    response_status integer,
    error text,
    created_at timestamp with time zone NOT NULL,
    response_body text
);
CREATE TABLE public.webhooks (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    url text NOT NULL,
    event_types jsonb NOT NULL,
    secret bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.route_changes ALTER COLUMN id SET DEFAULT nextval('public.route_changes_id_seq'::regclass);
INSERT INTO public.accounts VALUES ('01a22432-4142-7132-95f9-2838bbb35a61', 'owner@example.com', 'owner', 'lifetime', NULL, NULL, NULL, 2, '2026-11-28 22:06:42.974833+00', '2026-11-28 22:06:42.974833+00', NULL, 0, NULL, NULL, 'none', 0);
INSERT INTO public.alembic_version VALUES ('0081', '0059');
INSERT INTO public.api_keys VALUES ('01a22432-41f6-71f9-9eb4-272b43db01e8', '01a22432-4142-7132-95f9-2838bbb35a61', 'journey', 'wp_live_Kjob', '18926e64a03d66b73c899b52706ae3a93dd9c2e4ee09e104c53973f5b9698ca4', '["links:read", "links:write", "domains:read", "domains:write", "pixels:read", "pixels:write", "webhooks:manage"]', '2026-11-28 22:06:44.348009+00', NULL, NULL, '2026-11-28 22:06:43.186704+00', NULL);
INSERT INTO public.audit_entries VALUES ('01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-41f2-7b00-8c4f-8424e12641e3', '2026-11-28 22:06:43.186704+00', 'command', NULL, 'waypost key create', NULL, 'key.created', '01a22432-41f6-71f9-9eb4-272b43db01e8', 'journey', NULL, '{"scopes": ["links:read", "links:write", "domains:read", "domains:write", "pixels:read", "pixels:write", "webhooks:manage"], "expires_at": null}');
INSERT INTO public.audit_entries VALUES ('01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-4684-7ec0-a767-d0693021f5c8', '2026-11-28 22:06:44.356944+00', 'key', '01a22432-41f6-71f9-9eb4-272b43db01e8', 'journey', '127.0.0.1', 'pixel.created', '01a22432-4684-7057-83df-c288688357df', 'Shop', NULL, '{"platform": "facebook"}');
INSERT INTO public.audit_entries VALUES ('01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-46d5-7500-b216-c020f5f5179c', '2026-11-28 22:06:44.43732+00', 'key', '01a22432-41f6-71f9-9eb4-272b43db01e8', 'journey', '127.0.0.1', 'webhook.created', '01a22432-46d5-73ec-86c9-c9219e75492c', '127.0.0.1:8932', NULL, '{"events": ["link.created"]}');
INSERT INTO public.audit_entries VALUES ('01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-471b-7c68-9aba-f2e0f642bbeb', '2026-11-28 22:06:44.507794+00', 'key', '01a22432-41f6-71f9-9eb4-272b43db01e8', 'journey', '127.0.0.1', 'domain.created', '01a22432-47d6-75d7-b2b5-39512904abda', 'go.example.com', NULL, NULL);
INSERT INTO public.audit_entries VALUES ('01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-4898-76a0-b04f-3c31f453710b', '2026-11-28 22:06:44.888424+00', 'key', '01a22432-41f6-71f9-9eb4-272b43db01e8', 'journey', '127.0.0.1', 'link.created', '01a22432-484e-76ea-a099-d338cd1ea6d3', 'waypost.test/summer', '{"destination_url": [null, "http://127.0.0.1:44863"]}', NULL);
INSERT INTO public.audit_entries VALUES ('01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-495b-7e2c-8c86-ca77202a98a4', '2026-11-28 22:06:45.083907+00', 'key', '01a22432-41f6-71f9-9eb4-272b43db01e8', 'journey', '127.0.0.1', 'link.created', '01a22432-4958-7155-8b65-501a6521d779', 'waypost.test/winter', '{"destination_url": [null, "http://127.0.0.1:44863"]}', NULL);
INSERT INTO public.audit_entries VALUES ('01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-523e-76b0-aded-31aca46be6bc', '2026-11-28 22:06:47.358428+00', 'command', NULL, 'waypost account sign-in-link', NULL, 'sign_in_link.created', '01a22432-4138-7458-8412-79bbd44687ce', 'owner@example.com', NULL, NULL);
INSERT INTO public.audit_entries VALUES ('01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-532b-7338-badd-43689ee05d6c', '2026-11-28 22:06:47.595206+00', 'person', '01a22432-4138-7458-8412-79bbd44687ce', 'owner@example.com', '127.0.0.1', 'person.signed_in', '01a22432-4138-7458-8412-79bbd44687ce', 'owner@example.com', NULL, NULL);
INSERT INTO public.audit_entries VALUES ('01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-5539-78dc-b22e-9a47f6b8e110', '2026-11-28 22:06:48.121567+00', 'person', '01a22432-4138-7458-8412-79bbd44687ce', 'owner@example.com', '127.0.0.1', 'password.changed', '01a22432-4138-7458-8412-79bbd44687ce', 'owner@example.com', NULL, NULL);
INSERT INTO public.click_dimensions VALUES (20785, '01a22432-4142-7132-95f9-2838bbb35a61', 1, '', 4);
INSERT INTO public.click_dimensions VALUES (20785, '01a22432-4142-7132-95f9-2838bbb35a61', 2, '', 4);
INSERT INTO public.click_dimensions VALUES (20785, '01a22432-4142-7132-95f9-2838bbb35a61', 3, 'desktop	Firefox	Linux', 4);
INSERT INTO public.click_dimensions VALUES (20785, '01a22432-4142-7132-95f9-2838bbb35a61', 4, '01a22432484e76eaa099d338cd1ea6d3', 3);
INSERT INTO public.click_dimensions VALUES (20785, '01a22432-4142-7132-95f9-2838bbb35a61', 4, '01a22432495871558b65501a6521d779', 1);
INSERT INTO public.click_dimensions VALUES (20785, '01a22432-484e-76ea-a099-d338cd1ea6d3', 1, '', 3);
INSERT INTO public.click_dimensions VALUES (20785, '01a22432-484e-76ea-a099-d338cd1ea6d3', 2, '', 3);
INSERT INTO public.click_dimensions VALUES (20785, '01a22432-484e-76ea-a099-d338cd1ea6d3', 3, 'desktop	Firefox	Linux', 3);
INSERT INTO public.click_dimensions VALUES (20785, '01a22432-4958-7155-8b65-501a6521d779', 1, '', 1);
INSERT INTO public.click_dimensions VALUES (20785, '01a22432-4958-7155-8b65-501a6521d779', 2, '', 1);
INSERT INTO public.click_dimensions VALUES (20785, '01a22432-4958-7155-8b65-501a6521d779', 3, 'desktop	Firefox	Linux', 1);
INSERT INTO public.click_totals VALUES (20785, '01a22432-4142-7132-95f9-2838bbb35a61', -1, 4, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-28 22:06:45.123873+00', '2026-11-28 22:06:45.160499+00');
INSERT INTO public.click_totals VALUES (20785, '01a22432-4142-7132-95f9-2838bbb35a61', 88, 4, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-28 22:06:45.123873+00', '2026-11-28 22:06:45.160499+00');
INSERT INTO public.click_totals VALUES (20785, '01a22432-484e-76ea-a099-d338cd1ea6d3', -1, 3, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-28 22:06:45.123873+00', '2026-11-28 22:06:45.133481+00');
INSERT INTO public.click_totals VALUES (20785, '01a22432-484e-76ea-a099-d338cd1ea6d3', 88, 3, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-28 22:06:45.123873+00', '2026-11-28 22:06:45.133481+00');
INSERT INTO public.click_totals VALUES (20785, '01a22432-4958-7155-8b65-501a6521d779', -1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-28 22:06:45.160499+00', '2026-11-28 22:06:45.160499+00');
INSERT INTO public.click_totals VALUES (20785, '01a22432-4958-7155-8b65-501a6521d779', 88, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-28 22:06:45.160499+00', '2026-11-28 22:06:45.160499+00');
INSERT INTO public.clicks VALUES ('01a22432-4983-727e-85ea-dd8a0c224a00', '01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-484e-76ea-a099-d338cd1ea6d3', 20785, '2026-11-28 22:06:45.123873+00', 'human', NULL, false, '127.0.0.1', '', 3798085340013521293, '', 'desktop', 'Firefox', 'Linux', '');
INSERT INTO public.clicks VALUES ('01a22432-498b-730a-9292-febcb7071800', '01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-484e-76ea-a099-d338cd1ea6d3', 20785, '2026-11-28 22:06:45.13113+00', 'human', NULL, false, '127.0.0.1', '', 3798085340013521293, '', 'desktop', 'Firefox', 'Linux', '');
INSERT INTO public.clicks VALUES ('01a22432-498d-719c-af1a-dc71f9bbd300', '01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-484e-76ea-a099-d338cd1ea6d3', 20785, '2026-11-28 22:06:45.133481+00', 'human', NULL, false, '127.0.0.1', '', 3798085340013521293, '', 'desktop', 'Firefox', 'Linux', '');
INSERT INTO public.clicks VALUES ('01a22432-49a8-77d6-98b3-baba3571ba00', '01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-4958-7155-8b65-501a6521d779', 20785, '2026-11-28 22:06:45.160499+00', 'human', NULL, false, '127.0.0.1', '', 3798085340013521293, '', 'desktop', 'Firefox', 'Linux', '');
INSERT INTO public.domains VALUES ('01a22432-47d6-75d7-b2b5-39512904abda', '01a22432-4142-7132-95f9-2838bbb35a61', 'go.example.com', 'waypost-71744b52514b467eee88eef643e47073', 'pending', false, NULL, NULL, NULL, 0, '2026-11-28 22:06:44.507794+00', NULL, NULL, NULL, 0, 'none', NULL, NULL, '2026-11-28 22:06:44.507794+00', '2026-11-28 22:06:44.507794+00', false, false);
INSERT INTO public.jobs VALUES ('01a22432-552c-715d-85ee-d40ebaddc032', 'mail.send', '{"to": "owner@example.com", "text": "The password of your account at http://waypost.test was changed. All other sessions were signed out.\n\nIf you did not change it, reset your password immediately: http://waypost.test/forgot\n", "subject": "Your password was changed"}', '01a22432-4138-7458-8412-79bbd44687ce', '2026-11-28 22:06:48.02499+00', 0, 8, NULL, NULL, NULL, '2026-11-28 22:06:48.02499+00', 0, 'jobs', 0);
INSERT INTO public.link_clicks VALUES ('01a22432-484e-76ea-a099-d338cd1ea6d3', '01a22432-4142-7132-95f9-2838bbb35a61', 3, '2026-11-28 22:06:45.160499+00');
INSERT INTO public.link_clicks VALUES ('01a22432-4958-7155-8b65-501a6521d779', '01a22432-4142-7132-95f9-2838bbb35a61', 1, '2026-11-28 22:06:45.160499+00');
INSERT INTO public.link_pixels VALUES ('01a22432-484e-76ea-a099-d338cd1ea6d3', 0, '01a22432-4684-7057-83df-c288688357df');
INSERT INTO public.link_tags VALUES ('01a22432-4142-7132-95f9-2838bbb35a61', 'sale', '01a22432-484e-76ea-a099-d338cd1ea6d3');
INSERT INTO public.links VALUES ('01a22432-484e-76ea-a099-d338cd1ea6d3', '01a22432-4142-7132-95f9-2838bbb35a61', 'summer', 'http://127.0.0.1:44863', 'A page', NULL, 'About it', NULL, NULL, '{}', '["sale"]', 'a page
summer
http://127.0.0.1:44863', NULL, true, '2026-11-28 22:06:44.888424+00', '2026-11-28 22:06:44.888424+00', NULL, NULL, 0, NULL, NULL, 'API key journey', NULL, 'summer', NULL, NULL, NULL, NULL);
INSERT INTO public.links VALUES ('01a22432-4958-7155-8b65-501a6521d779', '01a22432-4142-7132-95f9-2838bbb35a61', 'winter', 'http://127.0.0.1:44863', 'Winter sale', NULL, 'About it', NULL, NULL, '{}', '[]', 'winter sale
winter
http://127.0.0.1:44863', NULL, true, '2026-11-28 22:06:45.083907+00', '2026-11-28 22:06:45.083907+00', NULL, NULL, 0, NULL, NULL, 'API key journey', NULL, 'winter', NULL, NULL, NULL, NULL);
INSERT INTO public.mail_rate_limits VALUES ('977374c803cd399305962cdb8927af09cb77fc2f47bd0b5c8ab8fac0fffb9708', '[1795903608024990]', '2026-11-28 22:06:48.02499+00');
INSERT INTO public.memberships VALUES ('01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-4138-7458-8412-79bbd44687ce', 'owner', '2026-11-28 22:06:42.974833+00', false);
INSERT INTO public.people VALUES ('01a22432-4138-7458-8412-79bbd44687ce', 'owner@example.com', 'owner', '$argon2id$v=19$m=19456,t=2,p=1$kveg41Iw8uO+aU2424tXCg$wJzN6x6N9cQoyUeMg4Vw6jqU3deAdmsKHk5kdB48scE', '2026-11-28 22:06:42.974833+00', false, '2026-11-28 22:06:42.974833+00', '2026-11-28 22:06:48.02499+00', 'UTC', NULL, NULL);
INSERT INTO public.pixels VALUES ('01a22432-4684-7057-83df-c288688357df', '01a22432-4142-7132-95f9-2838bbb35a61', 'facebook', 'Shop', '\x01c3935e077eaf91d9faab05f60520e3d341560971c84df2c729a70b371b59cb74c3942f5580f20a4d9d33d388438220', NULL, '2026-11-28 22:06:44.356944+00', '2026-11-28 22:06:44.356944+00');
INSERT INTO public.rate_limits VALUES ('\x7d9d5e8d865be5112b8493eea68baf69', '{"2026-11-28 22:06:44.345201+00","2026-11-28 22:06:44.4212+00","2026-11-28 22:06:44.505078+00","2026-11-28 22:06:44.796895+00","2026-11-28 22:06:45.080235+00","2026-11-28 22:06:45.170136+00","2026-11-28 22:06:47.225802+00"}', 1);
INSERT INTO public.rate_limits VALUES ('\xed11e88bff5d11e943a4abc030b42ba8', '{"2026-11-28 22:06:47.701405+00"}', 1);
INSERT INTO public.rate_limits VALUES ('\x5ab92e3b31c53525979b4a7ea8b33a43', '{"2026-11-28 22:06:47.70397+00"}', 1);
INSERT INTO public.secret_key_fingerprint VALUES (1, '\xfc515c4e358eda9ff8cdb91995f501cb1e65b2c3936ede22813234f42adc4748');
INSERT INTO public.service_reports VALUES ('totals', 'vm', '2026-11-28 22:06:44.373739+00', '{"links": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "clicks": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "accounts": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], "last_day": 20785, "certificates": {"failed": 0, "served": 0, "next_expiry": null}}');
INSERT INTO public.sessions VALUES ('01a22432-558f-748d-a845-47de18c93c1b', '413c2dd779553eed7cb6654de354ffc2539bcdcc804dc73a8c47b5197dd53189', '01a22432-4138-7458-8412-79bbd44687ce', '01a22432-4142-7132-95f9-2838bbb35a61', 'python-httpx/0.28.1', '127.0.0.1', '2026-11-28 22:06:48.195031+00', '2026-11-28 22:06:48.195031+00', '2026-12-28 22:06:48.195031+00', '2026-11-28 22:06:48.195031+00', NULL, false);
INSERT INTO public.slugs VALUES ('summer', '01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-484e-76ea-a099-d338cd1ea6d3');
INSERT INTO public.slugs VALUES ('winter', '01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-4958-7155-8b65-501a6521d779');
INSERT INTO public.spool_positions VALUES ('01a22432-43e1-7603-ae2e-0d7df2b45594.visits', 803, NULL, NULL);
INSERT INTO public.tags VALUES ('01a22432-489c-7371-b1c0-97cbc626a646', '01a22432-4142-7132-95f9-2838bbb35a61', 'sale', 'sale', 'gray', 1, 0, '1970-01-01 00:00:00+00', '2026-11-28 22:06:44.891781+00', '2026-11-28 22:06:44.891781+00');
INSERT INTO public.visitor_days VALUES (20785, 3798085340013521293, '01a22432-484e-76ea-a099-d338cd1ea6d3', 0, 1099511627776);
INSERT INTO public.visitor_days VALUES (20785, 3798085340013521293, '01a22432-4958-7155-8b65-501a6521d779', 0, 1099511627776);
INSERT INTO public.webhook_deliveries VALUES ('01a22432-484e-7cab-9c21-8cf12e73825e', '01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-46d5-73ec-86c9-c9219e75492c', 'link.created', '{"id":"01a22432-484e-7cab-9c21-8cf12e73825e","api_version":"v1","event":"link.created","created_at":"2026-11-28T22:06:44+00:00","data":{"id":"01a22432-484e-76ea-a099-d338cd1ea6d3","title":"A page","destination_url":"http://127.0.0.1:44863","short_url":"waypost.test/summer","slug":"summer","hostname":"waypost.test","og_title":null,"og_description":"About it","og_image":null,"utm_params":{},"tags":["sale"],"expires_at":null,"pixel_ids":["01a22432-4684-7057-83df-c288688357df"],"clicks":0,"status":"active","created_at":"2026-11-28T22:06:44.888424Z","updated_at":"2026-11-28T22:06:44.888424Z"}}', 'pending', 1, '2026-11-28 22:06:55.556408+00', NULL, NULL, 'connection refused', '2026-11-28 22:06:44.888424+00', NULL);
INSERT INTO public.webhook_deliveries VALUES ('01a22432-4958-77e4-bf30-ac4a31fe38f6', '01a22432-4142-7132-95f9-2838bbb35a61', '01a22432-46d5-73ec-86c9-c9219e75492c', 'link.created', '{"id":"01a22432-4958-77e4-bf30-ac4a31fe38f6","api_version":"v1","event":"link.created","created_at":"2026-11-28T22:06:45+00:00","data":{"id":"01a22432-4958-7155-8b65-501a6521d779","title":"Winter sale","destination_url":"http://127.0.0.1:44863","short_url":"waypost.test/winter","slug":"winter","hostname":"waypost.test","og_title":null,"og_description":"About it","og_image":null,"utm_params":{},"tags":[],"expires_at":null,"pixel_ids":[],"clicks":0,"status":"active","created_at":"2026-11-28T22:06:45.083907Z","updated_at":"2026-11-28T22:06:45.083907Z"}}', 'pending', 1, '2026-11-28 22:06:55.556498+00', NULL, NULL, 'connection refused', '2026-11-28 22:06:45.083907+00', NULL);
INSERT INTO public.webhooks VALUES ('01a22432-46d5-73ec-86c9-c9219e75492c', '01a22432-4142-7132-95f9-2838bbb35a61', 'https://127.0.0.1:8932/hook', '["link.created"]', '\x01c3935e076154d7c94bd1f52ecc5ccb858248eb72d007b423f45e301ca3365059a5b3c8562784c981a4f6b6070646d34a49cff3ab004e7ba14a045025496def539a59a86df09ef89b0200ef6ac3568fa4a930', '2026-11-28 22:06:44.43732+00', '2026-11-28 22:06:44.43732+00');
SELECT pg_catalog.setval('public.route_changes_id_seq', 1, false);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT pk_accounts PRIMARY KEY (id);
ALTER TABLE ONLY public.acme_accounts
    ADD CONSTRAINT pk_acme_accounts PRIMARY KEY (id);
ALTER TABLE ONLY public.acme_challenges
    ADD CONSTRAINT pk_acme_challenges PRIMARY KEY (token);
ALTER TABLE ONLY public.acme_orders
    ADD CONSTRAINT pk_acme_orders PRIMARY KEY (id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT pk_api_keys PRIMARY KEY (id);
ALTER TABLE ONLY public.audit_entries
    ADD CONSTRAINT pk_audit_entries PRIMARY KEY (account_id, id);
ALTER TABLE ONLY public.bulk_changes
    ADD CONSTRAINT pk_bulk_changes PRIMARY KEY (id);
ALTER TABLE ONLY public.certificates
    ADD CONSTRAINT pk_certificates PRIMARY KEY (id);
ALTER TABLE ONLY public.click_dimensions
    ADD CONSTRAINT pk_click_dimensions PRIMARY KEY (day, subject_id, dimension, value);
ALTER TABLE ONLY public.top_values_cache
    ADD CONSTRAINT pk_click_leaders PRIMARY KEY (subject_id, time_range);
ALTER TABLE ONLY public.click_retention
    ADD CONSTRAINT pk_click_retention PRIMARY KEY (id);
ALTER TABLE ONLY public.click_totals
    ADD CONSTRAINT pk_click_totals PRIMARY KEY (day, subject_id, quarter);
ALTER TABLE ONLY public.clicks
    ADD CONSTRAINT pk_clicks PRIMARY KEY (id);
ALTER TABLE ONLY public.deleted_links
    ADD CONSTRAINT pk_deleted_links PRIMARY KEY (bulk_change_id, link_id);
ALTER TABLE ONLY public.disabled_links
    ADD CONSTRAINT pk_disabled_links PRIMARY KEY (link_id);
ALTER TABLE ONLY public.domain_app_links
    ADD CONSTRAINT pk_domain_app_links PRIMARY KEY (domain_id);
ALTER TABLE ONLY public.domain_appearances
    ADD CONSTRAINT pk_domain_appearances PRIMARY KEY (domain_id);
ALTER TABLE ONLY public.unverified_registrations
    ADD CONSTRAINT pk_domain_claims PRIMARY KEY (account_id, hostname);
ALTER TABLE ONLY public.domain_options
    ADD CONSTRAINT pk_domain_options PRIMARY KEY (domain_id);
ALTER TABLE ONLY public.domains
    ADD CONSTRAINT pk_domains PRIMARY KEY (id);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT pk_idempotency_keys PRIMARY KEY (id);
ALTER TABLE ONLY public.identities
    ADD CONSTRAINT pk_identities PRIMARY KEY (person_id);
ALTER TABLE ONLY public.import_checks
    ADD CONSTRAINT pk_import_checks PRIMARY KEY (link_id);
ALTER TABLE ONLY public.import_file_pieces
    ADD CONSTRAINT pk_import_file_pieces PRIMARY KEY (import_id, start);
ALTER TABLE ONLY public.import_refusals
    ADD CONSTRAINT pk_import_refusals PRIMARY KEY (import_id, number);
ALTER TABLE ONLY public.imported_clicks
    ADD CONSTRAINT pk_imported_clicks PRIMARY KEY (link_id);
ALTER TABLE ONLY public.imported_links
    ADD CONSTRAINT pk_imported_links PRIMARY KEY (account_id, key);
ALTER TABLE ONLY public.imports
    ADD CONSTRAINT pk_imports PRIMARY KEY (id);
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT pk_invitations PRIMARY KEY (id);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT pk_jobs PRIMARY KEY (id);
ALTER TABLE ONLY public.past_emails
    ADD CONSTRAINT pk_left_addresses PRIMARY KEY (digest);
ALTER TABLE ONLY public.link_aliases
    ADD CONSTRAINT pk_link_aliases PRIMARY KEY (id);
ALTER TABLE ONLY public.link_clicks
    ADD CONSTRAINT pk_link_clicks PRIMARY KEY (link_id);
ALTER TABLE ONLY public.link_health
    ADD CONSTRAINT pk_link_health PRIMARY KEY (link_id);
ALTER TABLE ONLY public.link_images
    ADD CONSTRAINT pk_link_images PRIMARY KEY (name);
ALTER TABLE ONLY public.link_pixels
    ADD CONSTRAINT pk_link_pixels PRIMARY KEY (link_id, "position");
ALTER TABLE ONLY public.link_reports
    ADD CONSTRAINT pk_link_reports PRIMARY KEY (id);
ALTER TABLE ONLY public.link_routing
    ADD CONSTRAINT pk_link_routing PRIMARY KEY (link_id);
ALTER TABLE ONLY public.link_tags
    ADD CONSTRAINT pk_link_tags PRIMARY KEY (account_id, tag, link_id);
ALTER TABLE ONLY public.links
    ADD CONSTRAINT pk_links PRIMARY KEY (id);
ALTER TABLE ONLY public.logos
    ADD CONSTRAINT pk_logos PRIMARY KEY (owner_id);
ALTER TABLE ONLY public.mail_rate_limits
    ADD CONSTRAINT pk_mail_budgets PRIMARY KEY (digest);
ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT pk_memberships PRIMARY KEY (account_id, person_id);
ALTER TABLE ONLY public.missed_addresses
    ADD CONSTRAINT pk_missed_addresses PRIMARY KEY (domain_id, day, path);
ALTER TABLE ONLY public.one_time_tokens
    ADD CONSTRAINT pk_one_time_tokens PRIMARY KEY (digest);
ALTER TABLE ONLY public.ownership_offers
    ADD CONSTRAINT pk_ownership_offers PRIMARY KEY (account_id);
ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT pk_passkeys PRIMARY KEY (id);
ALTER TABLE ONLY public.people
    ADD CONSTRAINT pk_people PRIMARY KEY (id);
ALTER TABLE ONLY public.pixel_events
    ADD CONSTRAINT pk_pixel_events PRIMARY KEY (id);
ALTER TABLE ONLY public.pixel_results
    ADD CONSTRAINT pk_pixel_results PRIMARY KEY (pixel_id);
ALTER TABLE ONLY public.pixels
    ADD CONSTRAINT pk_pixels PRIMARY KEY (id);
ALTER TABLE ONLY public.provider_sessions
    ADD CONSTRAINT pk_provider_sessions PRIMARY KEY (session_id);
ALTER TABLE ONLY public.qr_styles
    ADD CONSTRAINT pk_qr_looks PRIMARY KEY (link_id);
ALTER TABLE ONLY public.qr_scans
    ADD CONSTRAINT pk_qr_scans PRIMARY KEY (link_id);
ALTER TABLE ONLY public.rate_limits
    ADD CONSTRAINT pk_rate_limits PRIMARY KEY (key);
ALTER TABLE ONLY public.recovery_codes
    ADD CONSTRAINT pk_recovery_codes PRIMARY KEY (digest);
ALTER TABLE ONLY public.report_subscriptions
    ADD CONSTRAINT pk_report_subscriptions PRIMARY KEY (id);
ALTER TABLE ONLY public.reported_links
    ADD CONSTRAINT pk_reported_links PRIMARY KEY (link_id);
ALTER TABLE ONLY public.route_changes
    ADD CONSTRAINT pk_route_changes PRIMARY KEY (id);
ALTER TABLE ONLY public.saved_views
    ADD CONSTRAINT pk_saved_views PRIMARY KEY (id);
ALTER TABLE ONLY public.second_factors
    ADD CONSTRAINT pk_second_factors PRIMARY KEY (person_id);
ALTER TABLE ONLY public.secret_key_fingerprint
    ADD CONSTRAINT pk_secret_key_fingerprint PRIMARY KEY (id);
ALTER TABLE ONLY public.service_reports
    ADD CONSTRAINT pk_service_reports PRIMARY KEY (kind);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT pk_sessions PRIMARY KEY (id);
ALTER TABLE ONLY public.shares
    ADD CONSTRAINT pk_shares PRIMARY KEY (id);
ALTER TABLE ONLY public.sign_in_failures
    ADD CONSTRAINT pk_sign_in_failures PRIMARY KEY (slot);
ALTER TABLE ONLY public.slugs
    ADD CONSTRAINT pk_slugs PRIMARY KEY (slug);
ALTER TABLE ONLY public.spool_positions
    ADD CONSTRAINT pk_spool_positions PRIMARY KEY (segment);
ALTER TABLE ONLY public.stripe_checkouts
    ADD CONSTRAINT pk_stripe_checkouts PRIMARY KEY (id);
ALTER TABLE ONLY public.stripe_customers
    ADD CONSTRAINT pk_stripe_customers PRIMARY KEY (account_id);
ALTER TABLE ONLY public.stripe_events
    ADD CONSTRAINT pk_stripe_events PRIMARY KEY (id);
ALTER TABLE ONLY public.tags
    ADD CONSTRAINT pk_tags PRIMARY KEY (id);
ALTER TABLE ONLY public.unsubscribed_addresses
    ADD CONSTRAINT pk_unsubscribed_addresses PRIMARY KEY (digest);
ALTER TABLE ONLY public.utm_templates
    ADD CONSTRAINT pk_utm_templates PRIMARY KEY (id);
ALTER TABLE ONLY public.verified_names
    ADD CONSTRAINT pk_verified_names PRIMARY KEY (hostname, account_digest);
ALTER TABLE ONLY public.visitor_days
    ADD CONSTRAINT pk_visitor_days PRIMARY KEY (day, visitor_id, subject_id);
ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT pk_webhook_deliveries PRIMARY KEY (id);
ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT pk_webhooks PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT uq_accounts_email UNIQUE (email);
ALTER TABLE ONLY public.acme_accounts
    ADD CONSTRAINT uq_acme_accounts_directory UNIQUE (directory);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT uq_api_keys_digest UNIQUE (digest);
ALTER TABLE ONLY public.certificates
    ADD CONSTRAINT uq_certificates_hostname UNIQUE (hostname);
ALTER TABLE ONLY public.domains
    ADD CONSTRAINT uq_domains_hostname UNIQUE (hostname);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT uq_idempotency_keys_account_id_key UNIQUE (account_id, key);
ALTER TABLE ONLY public.identities
    ADD CONSTRAINT uq_identities_issuer_subject UNIQUE (issuer, subject);
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT uq_invitations_digest UNIQUE (digest);
ALTER TABLE ONLY public.logos
    ADD CONSTRAINT uq_logos_name UNIQUE (name);
ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT uq_passkeys_credential_id UNIQUE (credential_id);
ALTER TABLE ONLY public.people
    ADD CONSTRAINT uq_people_email UNIQUE (email);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT uq_sessions_digest UNIQUE (digest);
ALTER TABLE ONLY public.shares
    ADD CONSTRAINT uq_shares_token_digest UNIQUE (token_digest);
ALTER TABLE ONLY public.stripe_customers
    ADD CONSTRAINT uq_stripe_customers_customer_id UNIQUE (customer_id);
ALTER TABLE ONLY public.utm_templates
    ADD CONSTRAINT uq_utm_templates_account_id_name UNIQUE (account_id, name);
CREATE INDEX ix_acme_challenges_created_at ON public.acme_challenges USING btree (created_at);
CREATE INDEX ix_acme_orders_ordered_at ON public.acme_orders USING btree (ordered_at);
CREATE INDEX ix_api_keys_account_id ON public.api_keys USING btree (account_id);
CREATE INDEX ix_api_keys_created_by ON public.api_keys USING btree (created_by);
CREATE INDEX ix_audit_entries_action ON public.audit_entries USING btree (account_id, action, id);
CREATE INDEX ix_audit_entries_actor_id ON public.audit_entries USING btree (account_id, actor_id, id);
CREATE INDEX ix_audit_entries_item_id ON public.audit_entries USING btree (account_id, item_id, id);
CREATE INDEX ix_bulk_changes_newest ON public.bulk_changes USING btree (account_id, created_at, id);
CREATE INDEX ix_certificates_due ON public.certificates USING btree (due_at, id);
CREATE INDEX ix_certificates_leased ON public.certificates USING btree (leased_until);
CREATE INDEX ix_certificates_updated ON public.certificates USING btree (updated_at);
CREATE INDEX ix_clicks_account ON public.clicks USING btree (day, account_id, created_at, id, kind);
CREATE INDEX ix_clicks_link ON public.clicks USING btree (day, link_id, created_at, id, kind);
CREATE INDEX ix_disabled_links_slug ON public.disabled_links USING btree (slug);
CREATE INDEX ix_domains_account ON public.domains USING btree (account_id, created_at, id);
CREATE INDEX ix_domains_unverified ON public.domains USING btree (unverified_since);
CREATE INDEX ix_idempotency_keys_created_at ON public.idempotency_keys USING btree (created_at);
CREATE INDEX ix_idempotency_keys_share ON public.idempotency_keys USING btree (account_id, answer_bytes);
CREATE INDEX ix_import_checks_account ON public.import_checks USING btree (account_id, checked_at, link_id);
CREATE INDEX ix_imported_clicks_account ON public.imported_clicks USING btree (account_id, clicks);
CREATE INDEX ix_imports_account ON public.imports USING btree (account_id, created_at, id);
CREATE INDEX ix_invitations_account_id ON public.invitations USING btree (account_id);
CREATE INDEX ix_invitations_created_by ON public.invitations USING btree (created_by);
CREATE INDEX ix_jobs_leased ON public.jobs USING btree (queue, lease_until) WHERE (lease_until IS NOT NULL);
CREATE INDEX ix_jobs_waiting ON public.jobs USING btree (queue, rank, run_at, id, name, account_id, attempts, lease_until) WHERE (failed_at IS NULL);
CREATE INDEX ix_link_aliases_folded ON public.link_aliases USING btree (domain_id, folded);
CREATE INDEX ix_link_aliases_link ON public.link_aliases USING btree (link_id, created_at, id);
CREATE INDEX ix_link_clicks_most ON public.link_clicks USING btree (account_id, clicks, link_id);
CREATE INDEX ix_link_health_due ON public.link_health USING btree (due_at, account_id, link_id);
CREATE INDEX ix_link_health_held ON public.link_health USING btree (link_id) WHERE (held IS NOT NULL);
CREATE INDEX ix_link_health_status ON public.link_health USING btree (account_id, status, link_id);
CREATE INDEX ix_link_pixels_pixel ON public.link_pixels USING btree (pixel_id, link_id);
CREATE INDEX ix_link_reports_link_id ON public.link_reports USING btree (link_id);
CREATE INDEX ix_link_routing_checked_at ON public.link_routing USING btree (checked_at);
CREATE INDEX ix_links_deleted ON public.links USING btree (account_id, id) WHERE (deleted_at IS NOT NULL);
CREATE INDEX ix_links_domain ON public.links USING btree (domain_id, created_at, id) WHERE ((domain_id IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX ix_links_folded ON public.links USING btree (folded_slug, domain_id) WHERE ((deleted_at IS NULL) AND (folded_slug IS NOT NULL));
CREATE INDEX ix_links_image ON public.links USING btree (og_image_file_name) WHERE (og_image_file_name IS NOT NULL);
CREATE INDEX ix_links_limited ON public.links USING btree (account_id, id, starts_at, click_limit) WHERE ((deleted_at IS NULL) AND ((starts_at IS NOT NULL) OR (click_limit IS NOT NULL)));
CREATE INDEX ix_links_newest ON public.links USING btree (account_id, created_at, id, is_enabled, expires_at) WHERE (deleted_at IS NULL);
CREATE INDEX ix_links_title ON public.links USING btree (account_id, substr(search_text, 1, 64), created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE INDEX ix_links_trigrams ON public.links USING gin (search_text public.gin_trgm_ops) WITH (fastupdate=off) WHERE (deleted_at IS NULL);
CREATE INDEX ix_logos_account_id ON public.logos USING btree (account_id);
CREATE INDEX ix_mail_rate_limits_sent_at ON public.mail_rate_limits USING btree (sent_at);
CREATE INDEX ix_memberships_person_id ON public.memberships USING btree (person_id);
CREATE INDEX ix_missed_addresses_day ON public.missed_addresses USING btree (day);
CREATE INDEX ix_one_time_tokens_expires_at ON public.one_time_tokens USING btree (expires_at);
CREATE INDEX ix_one_time_tokens_person_id ON public.one_time_tokens USING btree (person_id);
CREATE INDEX ix_ownership_offers_offered_by ON public.ownership_offers USING btree (offered_by);
CREATE INDEX ix_ownership_offers_person_id ON public.ownership_offers USING btree (person_id);
CREATE INDEX ix_passkeys_person_id ON public.passkeys USING btree (person_id);
CREATE INDEX ix_past_emails_recorded_at ON public.past_emails USING btree (recorded_at);
CREATE INDEX ix_pixel_events_pixel ON public.pixel_events USING btree (pixel_id, id);
CREATE INDEX ix_pixels_account ON public.pixels USING btree (account_id, id);
CREATE INDEX ix_provider_sessions_id ON public.provider_sessions USING btree (id);
CREATE INDEX ix_provider_sessions_subject ON public.provider_sessions USING btree (subject);
CREATE INDEX ix_recovery_codes_person_id ON public.recovery_codes USING btree (person_id);
CREATE INDEX ix_report_subscriptions_account ON public.report_subscriptions USING btree (account_id, person_id);
CREATE INDEX ix_report_subscriptions_person_id ON public.report_subscriptions USING btree (person_id);
CREATE INDEX ix_report_subscriptions_recipient ON public.report_subscriptions USING btree (recipient);
CREATE INDEX ix_reported_links_account_id ON public.reported_links USING btree (account_id);
CREATE INDEX ix_reported_links_open ON public.reported_links USING btree (last_at, link_id) WHERE (closed_at IS NULL);
CREATE INDEX ix_route_changes_at ON public.route_changes USING btree (at);
CREATE INDEX ix_saved_views_account ON public.saved_views USING btree (account_id, person_id);
CREATE INDEX ix_sessions_account_id ON public.sessions USING btree (account_id);
CREATE INDEX ix_sessions_expires_at ON public.sessions USING btree (expires_at);
CREATE INDEX ix_sessions_passkey_id ON public.sessions USING btree (passkey_id);
CREATE INDEX ix_sessions_person_id ON public.sessions USING btree (person_id);
CREATE INDEX ix_shares_account ON public.shares USING btree (account_id, id);
CREATE INDEX ix_shares_link ON public.shares USING btree (link_id);
CREATE INDEX ix_stripe_checkouts_account_id ON public.stripe_checkouts USING btree (account_id);
CREATE INDEX ix_stripe_events_received_at ON public.stripe_events USING btree (received_at);
CREATE INDEX ix_tags_order ON public.tags USING btree (account_id, folded_name, name);
CREATE INDEX ix_top_values_cache_account_id ON public.top_values_cache USING btree (account_id);
CREATE INDEX ix_unverified_registrations_ended_at ON public.unverified_registrations USING btree (ended_at);
CREATE INDEX ix_webhook_deliveries_leased ON public.webhook_deliveries USING btree (webhook_id) WHERE (leased_until IS NOT NULL);
CREATE INDEX ix_webhook_deliveries_log ON public.webhook_deliveries USING btree (webhook_id, id, status, event);
CREATE INDEX ix_webhook_deliveries_pending ON public.webhook_deliveries USING btree (webhook_id, next_attempt_at, id) WHERE (status = 'pending'::text);
CREATE INDEX ix_webhooks_account ON public.webhooks USING btree (account_id, id);
CREATE UNIQUE INDEX uq_link_aliases_address ON public.link_aliases USING btree (domain_id, digest);
CREATE UNIQUE INDEX uq_links_external_id ON public.links USING btree (account_id, external_id) WHERE ((deleted_at IS NULL) AND (external_id IS NOT NULL));
CREATE UNIQUE INDEX uq_links_slug ON public.links USING btree (slug) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX uq_tags_name ON public.tags USING btree (account_id, name);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT fk_api_keys_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT fk_api_keys_created_by FOREIGN KEY (created_by) REFERENCES public.people(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.top_values_cache
    ADD CONSTRAINT fk_click_leaders_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT fk_idempotency_keys_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.identities
    ADD CONSTRAINT fk_identities_person_id FOREIGN KEY (person_id) REFERENCES public.people(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.import_checks
    ADD CONSTRAINT fk_import_checks_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.import_file_pieces
    ADD CONSTRAINT fk_import_file_pieces_import_id FOREIGN KEY (import_id) REFERENCES public.imports(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.import_refusals
    ADD CONSTRAINT fk_import_refusals_import_id FOREIGN KEY (import_id) REFERENCES public.imports(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.imported_links
    ADD CONSTRAINT fk_imported_links_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.imports
    ADD CONSTRAINT fk_imports_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT fk_invitations_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT fk_invitations_created_by FOREIGN KEY (created_by) REFERENCES public.people(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.links
    ADD CONSTRAINT fk_links_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT fk_memberships_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT fk_memberships_person_id FOREIGN KEY (person_id) REFERENCES public.people(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.one_time_tokens
    ADD CONSTRAINT fk_one_time_tokens_person_id FOREIGN KEY (person_id) REFERENCES public.people(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.ownership_offers
    ADD CONSTRAINT fk_ownership_offers_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.ownership_offers
    ADD CONSTRAINT fk_ownership_offers_offered_by FOREIGN KEY (offered_by) REFERENCES public.people(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.ownership_offers
    ADD CONSTRAINT fk_ownership_offers_person_id FOREIGN KEY (person_id) REFERENCES public.people(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT fk_passkeys_person_id FOREIGN KEY (person_id) REFERENCES public.people(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.pixel_results
    ADD CONSTRAINT fk_pixel_results_pixel_id FOREIGN KEY (pixel_id) REFERENCES public.pixels(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.provider_sessions
    ADD CONSTRAINT fk_provider_sessions_session_id FOREIGN KEY (session_id) REFERENCES public.sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.recovery_codes
    ADD CONSTRAINT fk_recovery_codes_person_id FOREIGN KEY (person_id) REFERENCES public.people(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.report_subscriptions
    ADD CONSTRAINT fk_report_subscriptions_account_id FOREIGN KEY (account_id, person_id) REFERENCES public.memberships(account_id, person_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.saved_views
    ADD CONSTRAINT fk_saved_views_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.saved_views
    ADD CONSTRAINT fk_saved_views_member FOREIGN KEY (account_id, person_id) REFERENCES public.memberships(account_id, person_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.second_factors
    ADD CONSTRAINT fk_second_factors_person_id FOREIGN KEY (person_id) REFERENCES public.people(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT fk_sessions_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT fk_sessions_passkey_id FOREIGN KEY (passkey_id) REFERENCES public.passkeys(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT fk_sessions_person_id FOREIGN KEY (person_id) REFERENCES public.people(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.stripe_checkouts
    ADD CONSTRAINT fk_stripe_checkouts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.stripe_customers
    ADD CONSTRAINT fk_stripe_customers_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;

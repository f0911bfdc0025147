
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
    password_hash text,
    plan_type text NOT NULL,
    plan_status text,
    trial_ends_at timestamp with time zone,
    renews_at timestamp with time zone,
    links_count integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    confirmed_at timestamp with time zone,
    deleted_at timestamp with time zone,
    image_bytes bigint DEFAULT '0'::bigint NOT NULL
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
    created_at timestamp with time zone NOT NULL
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
CREATE TABLE public.domain_app_links (
    domain_id uuid NOT NULL,
    version uuid NOT NULL,
    apple_app_site_association text,
    assetlinks text
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
    check_at timestamp with time zone,
    leased_until timestamp with time zone,
    notified_at timestamp with time zone,
    root_url text,
    not_found_url text,
    links_count bigint NOT NULL,
    tls_status text NOT NULL,
    tls_expires_at timestamp with time zone,
    tls_error text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    needs_txt boolean DEFAULT false NOT NULL
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
CREATE TABLE public.import_checks (
    link_id uuid NOT NULL,
    account_id uuid NOT NULL,
    problem text,
    checked_at timestamp with time zone,
    import_id uuid
);
CREATE TABLE public.import_file_pieces (
    request_id uuid NOT NULL,
    start bigint NOT NULL,
    content bytea NOT NULL
);
CREATE TABLE public.import_refusals (
    import_id uuid NOT NULL,
    number integer NOT NULL,
    source_id text NOT NULL,
    reason text NOT NULL
);
CREATE TABLE public.import_requests (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    source text NOT NULL,
    state text NOT NULL,
    url text,
    token bytea,
    has_clicks boolean NOT NULL,
    timezone text,
    domains jsonb NOT NULL,
    file_name text,
    file_size bigint,
    plan jsonb NOT NULL,
    import_id uuid,
    message text,
    failures integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
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
CREATE TABLE public.imported_routing (
    link_id uuid NOT NULL,
    account_id uuid NOT NULL,
    routing bytea NOT NULL
);
CREATE TABLE public.imports (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    source text NOT NULL,
    options jsonb NOT NULL,
    token bytea,
    state text NOT NULL,
    cursor jsonb,
    counts jsonb NOT NULL,
    warnings jsonb NOT NULL,
    total integer,
    error text,
    lease_until timestamp with time zone,
    leased_by text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
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
    leased_by text,
    error text,
    failed_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.link_aliases (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    link_id uuid NOT NULL,
    domain_id uuid NOT NULL,
    path text NOT NULL,
    digest uuid NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.link_clicks (
    link_id uuid NOT NULL,
    account_id uuid NOT NULL,
    clicks bigint NOT NULL
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
    click_limit integer
);
CREATE TABLE public.mail_rate_limits (
    digest character varying(64) NOT NULL,
    sent jsonb NOT NULL,
    sent_at timestamp with time zone NOT NULL
);
CREATE TABLE public.one_time_tokens (
    digest character varying(64) NOT NULL,
    purpose text NOT NULL,
    account_id uuid,
    email character varying(254),
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
CREATE TABLE public.passkeys (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
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
CREATE TABLE public.pixel_batches (
    pixel_id uuid NOT NULL,
    last_event uuid NOT NULL,
    attempts smallint NOT NULL,
    next_attempt_at timestamp with time zone NOT NULL,
    leased_until timestamp with time zone
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
    updated_at timestamp with time zone NOT NULL
);
CREATE UNLOGGED TABLE public.rate_limits (
    key bytea NOT NULL,
    times timestamp with time zone[] NOT NULL,
    allowed smallint NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY public.rate_limits ALTER COLUMN times SET STORAGE PLAIN;
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
CREATE TABLE public.secret_key_fingerprint (
    id integer NOT NULL,
    fingerprint bytea NOT NULL
);
CREATE TABLE public.sessions (
    id uuid NOT NULL,
    digest character varying(64) NOT NULL,
    account_id uuid NOT NULL,
    user_agent text NOT NULL,
    ip text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    authenticated_at timestamp with time zone NOT NULL,
    passkey_id uuid
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
CREATE TABLE public.unverified_registrations (
    account_id uuid NOT NULL,
    hostname text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone NOT NULL,
    ended_at timestamp with time zone NOT NULL
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
INSERT INTO public.accounts VALUES ('01a20997-4094-710f-b936-97409d6cd9d6', 'owner@example.com', 'owner', '$argon2id$v=19$m=19456,t=2,p=1$aXlHRackiap0jLrRTTVlXQ$E3rbuttKOmKu05tzMpJgurHkvy97zg85e0Yz61x0g78', 'lifetime', NULL, NULL, NULL, 2, '2026-11-23 18:07:17.140294+00', '2026-11-23 18:07:21.619071+00', '2026-11-23 18:07:17.140294+00', NULL, 0);
INSERT INTO public.alembic_version VALUES ('0041', '0030');
INSERT INTO public.api_keys VALUES ('01a20997-41db-766e-a0e4-119db7126fee', '01a20997-4094-710f-b936-97409d6cd9d6', 'journey', 'wp_live_Ftrh', 'c305e4efdd36fe458f8c27bc95d00e879c1f0ddeaf021ef34e370486153fb55b', '["links:read", "links:write", "domains:read", "domains:write", "pixels:read", "pixels:write", "webhooks:manage"]', '2026-11-23 18:07:18.148944+00', NULL, NULL, '2026-11-23 18:07:17.466864+00');
INSERT INTO public.click_dimensions VALUES (20780, '01a20997-4094-710f-b936-97409d6cd9d6', 1, '', 4);
INSERT INTO public.click_dimensions VALUES (20780, '01a20997-4094-710f-b936-97409d6cd9d6', 2, '', 4);
INSERT INTO public.click_dimensions VALUES (20780, '01a20997-4094-710f-b936-97409d6cd9d6', 3, 'desktop	Firefox	Linux', 4);
INSERT INTO public.click_dimensions VALUES (20780, '01a20997-4094-710f-b936-97409d6cd9d6', 4, '01a2099747a87486a393ae618bc5d983', 3);
INSERT INTO public.click_dimensions VALUES (20780, '01a20997-4094-710f-b936-97409d6cd9d6', 4, '01a209974812714f8cf80b67e4097935', 1);
INSERT INTO public.click_dimensions VALUES (20780, '01a20997-47a8-7486-a393-ae618bc5d983', 1, '', 3);
INSERT INTO public.click_dimensions VALUES (20780, '01a20997-47a8-7486-a393-ae618bc5d983', 2, '', 3);
INSERT INTO public.click_dimensions VALUES (20780, '01a20997-47a8-7486-a393-ae618bc5d983', 3, 'desktop	Firefox	Linux', 3);
INSERT INTO public.click_dimensions VALUES (20780, '01a20997-4812-714f-8cf8-0b67e4097935', 1, '', 1);
INSERT INTO public.click_dimensions VALUES (20780, '01a20997-4812-714f-8cf8-0b67e4097935', 2, '', 1);
INSERT INTO public.click_dimensions VALUES (20780, '01a20997-4812-714f-8cf8-0b67e4097935', 3, 'desktop	Firefox	Linux', 1);
INSERT INTO public.click_totals VALUES (20780, '01a20997-4094-710f-b936-97409d6cd9d6', -1, 4, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-23 18:07:19.094508+00', '2026-11-23 18:07:19.113961+00');
INSERT INTO public.click_totals VALUES (20780, '01a20997-4094-710f-b936-97409d6cd9d6', 72, 4, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-23 18:07:19.094508+00', '2026-11-23 18:07:19.113961+00');
INSERT INTO public.click_totals VALUES (20780, '01a20997-47a8-7486-a393-ae618bc5d983', -1, 3, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-23 18:07:19.094508+00', '2026-11-23 18:07:19.096267+00');
INSERT INTO public.click_totals VALUES (20780, '01a20997-47a8-7486-a393-ae618bc5d983', 72, 3, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-23 18:07:19.094508+00', '2026-11-23 18:07:19.096267+00');
INSERT INTO public.click_totals VALUES (20780, '01a20997-4812-714f-8cf8-0b67e4097935', -1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-23 18:07:19.113961+00', '2026-11-23 18:07:19.113961+00');
INSERT INTO public.click_totals VALUES (20780, '01a20997-4812-714f-8cf8-0b67e4097935', 72, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-23 18:07:19.113961+00', '2026-11-23 18:07:19.113961+00');
INSERT INTO public.clicks VALUES ('01a20997-4836-773b-b80d-20801c522aa9', '01a20997-4094-710f-b936-97409d6cd9d6', '01a20997-47a8-7486-a393-ae618bc5d983', 20780, '2026-11-23 18:07:19.094508+00', 'human', NULL, false, '127.0.0.1', '', 5275885634766041441, '', 'desktop', 'Firefox', 'Linux', '');
INSERT INTO public.clicks VALUES ('01a20997-4837-7233-91d1-06dc009f0e57', '01a20997-4094-710f-b936-97409d6cd9d6', '01a20997-47a8-7486-a393-ae618bc5d983', 20780, '2026-11-23 18:07:19.095566+00', 'human', NULL, false, '127.0.0.1', '', 5275885634766041441, '', 'desktop', 'Firefox', 'Linux', '');
INSERT INTO public.clicks VALUES ('01a20997-4838-77ea-a176-de8da2e06c97', '01a20997-4094-710f-b936-97409d6cd9d6', '01a20997-47a8-7486-a393-ae618bc5d983', 20780, '2026-11-23 18:07:19.096267+00', 'human', NULL, false, '127.0.0.1', '', 5275885634766041441, '', 'desktop', 'Firefox', 'Linux', '');
INSERT INTO public.clicks VALUES ('01a20997-4849-71a6-8a99-47e9bcc941ab', '01a20997-4094-710f-b936-97409d6cd9d6', '01a20997-4812-714f-8cf8-0b67e4097935', 20780, '2026-11-23 18:07:19.113961+00', 'human', NULL, false, '127.0.0.1', '', 5275885634766041441, '', 'desktop', 'Firefox', 'Linux', '');
INSERT INTO public.domains VALUES ('01a20997-4677-70e6-8b72-d5385b71684e', '01a20997-4094-710f-b936-97409d6cd9d6', 'go.example.com', 'waypost-75c4d2c126f098b96e6f2871d8ee56f5', 'pending', false, NULL, NULL, NULL, 0, '2026-11-23 18:07:18.52472+00', NULL, NULL, NULL, NULL, NULL, 0, 'none', NULL, NULL, '2026-11-23 18:07:18.52472+00', '2026-11-23 18:07:18.52472+00', false);
INSERT INTO public.jobs VALUES ('01a20997-5218-70b1-a941-f6c672f87310', 'mail.send', '{"to": "owner@example.com", "text": "The password of your account at http://waypost.test was changed. All other sessions were signed out.\n\nIf you did not change it, reset your password immediately: http://waypost.test/forgot\n", "subject": "Your password was changed"}', '01a20997-4094-710f-b936-97409d6cd9d6', '2026-11-23 18:07:21.619071+00', 0, 8, NULL, NULL, NULL, NULL, '2026-11-23 18:07:21.619071+00');
INSERT INTO public.link_clicks VALUES ('01a20997-47a8-7486-a393-ae618bc5d983', '01a20997-4094-710f-b936-97409d6cd9d6', 3);
INSERT INTO public.link_clicks VALUES ('01a20997-4812-714f-8cf8-0b67e4097935', '01a20997-4094-710f-b936-97409d6cd9d6', 1);
INSERT INTO public.link_pixels VALUES ('01a20997-47a8-7486-a393-ae618bc5d983', 0, '01a20997-4486-70c6-9601-f9389fce9b9f');
INSERT INTO public.link_tags VALUES ('01a20997-4094-710f-b936-97409d6cd9d6', 'sale', '01a20997-47a8-7486-a393-ae618bc5d983');
INSERT INTO public.links VALUES ('01a20997-47a8-7486-a393-ae618bc5d983', '01a20997-4094-710f-b936-97409d6cd9d6', 'summer', 'http://127.0.0.1:39543', 'A page', NULL, 'About it', NULL, NULL, '{}', '["sale"]', 'a page
summer
http://127.0.0.1:39543', NULL, true, '2026-11-23 18:07:18.952087+00', '2026-11-23 18:07:18.952087+00', NULL, NULL, 0, NULL, NULL);
INSERT INTO public.links VALUES ('01a20997-4812-714f-8cf8-0b67e4097935', '01a20997-4094-710f-b936-97409d6cd9d6', 'winter', 'http://127.0.0.1:39543', 'Winter sale', NULL, 'About it', NULL, NULL, '{}', '[]', 'winter sale
winter
http://127.0.0.1:39543', NULL, true, '2026-11-23 18:07:19.058822+00', '2026-11-23 18:07:19.058822+00', NULL, NULL, 0, NULL, NULL);
INSERT INTO public.mail_rate_limits VALUES ('977374c803cd399305962cdb8927af09cb77fc2f47bd0b5c8ab8fac0fffb9708', '[1795457241619071]', '2026-11-23 18:07:21.619071+00');
INSERT INTO public.passkeys VALUES ('01a20997-4094-710f-b936-97409d6cd9d6', '01a20997-4094-710f-b936-97409d6cd9d6', '\x0102', '\x0102', 0, 'phone', '2026-11-23 18:07:17.140294+00', NULL);
INSERT INTO public.pixels VALUES ('01a20997-4486-70c6-9601-f9389fce9b9f', '01a20997-4094-710f-b936-97409d6cd9d6', 'facebook', 'Shop', '\x01c3935e0746a8166dcbf4f494709fd411f141214dbfc410ad487244df383e5c22bec5575a598fdc625bdbad318db2f4', NULL, '2026-11-23 18:07:18.150512+00', '2026-11-23 18:07:18.150512+00');
INSERT INTO public.rate_limits VALUES ('\x0bcb158402903fbffcef4ce54e6206db', '{"2026-11-23 18:07:18.148477+00","2026-11-23 18:07:18.467816+00","2026-11-23 18:07:18.523822+00","2026-11-23 18:07:18.744472+00","2026-11-23 18:07:19.037018+00","2026-11-23 18:07:19.12971+00","2026-11-23 18:07:21.154111+00"}', 1);
INSERT INTO public.rate_limits VALUES ('\x4416c9067fda97763714f2a75169e357', '{"2026-11-23 18:07:21.52377+00"}', 1);
INSERT INTO public.rate_limits VALUES ('\xb2cad7f0835ef86675b2fdb73a2d7fa4', '{"2026-11-23 18:07:21.5283+00"}', 1);
INSERT INTO public.secret_key_fingerprint VALUES (1, '\xfc515c4e358eda9ff8cdb91995f501cb1e65b2c3936ede22813234f42adc4748');
INSERT INTO public.sessions VALUES ('01a20997-521a-71ec-b62d-d093b583eb91', 'ded9a7c301f8732de9da5e96c51d86490ecf1e0b966fbebde40bc447301a6987', '01a20997-4094-710f-b936-97409d6cd9d6', 'python-httpx/0.28.1', '127.0.0.1', '2026-11-23 18:07:21.625745+00', '2026-11-23 18:07:21.625745+00', '2026-12-23 18:07:21.625745+00', '2026-11-23 18:07:21.625745+00', NULL);
INSERT INTO public.slugs VALUES ('summer', '01a20997-4094-710f-b936-97409d6cd9d6', '01a20997-47a8-7486-a393-ae618bc5d983');
INSERT INTO public.slugs VALUES ('winter', '01a20997-4094-710f-b936-97409d6cd9d6', '01a20997-4812-714f-8cf8-0b67e4097935');
INSERT INTO public.spool_positions VALUES ('01a20997-4387-7067-ac54-ecf904447c78.visits', 803, NULL, NULL);
INSERT INTO public.visitor_days VALUES (20780, 5275885634766041441, '01a20997-4094-710f-b936-97409d6cd9d6', 0, 16777216);
INSERT INTO public.visitor_days VALUES (20780, 5275885634766041441, '01a20997-47a8-7486-a393-ae618bc5d983', 0, 16777216);
INSERT INTO public.visitor_days VALUES (20780, 5275885634766041441, '01a20997-4812-714f-8cf8-0b67e4097935', 0, 16777216);
INSERT INTO public.webhook_deliveries VALUES ('01a20997-47a8-78a6-b4a1-84acb13a9222', '01a20997-4094-710f-b936-97409d6cd9d6', '01a20997-45d8-718e-92dc-a17f6e3b5fa8', 'link.created', '{"id":"01a20997-47a8-78a6-b4a1-84acb13a9222","api_version":"v1","event":"link.created","created_at":"2026-11-23T18:07:18+00:00","data":{"id":"01a20997-47a8-7486-a393-ae618bc5d983","title":"A page","destination_url":"http://127.0.0.1:39543","short_url":"waypost.test/summer","slug":"summer","hostname":"waypost.test","og_title":null,"og_description":"About it","og_image":null,"utm_params":{},"tags":["sale"],"expires_at":null,"pixel_ids":["01a20997-4486-70c6-9601-f9389fce9b9f"],"clicks":0,"status":"active","created_at":"2026-11-23T18:07:18.952087Z","updated_at":"2026-11-23T18:07:18.952087Z"}}', 'pending', 1, '2026-11-23 18:07:29.548381+00', NULL, NULL, 'connection refused', '2026-11-23 18:07:18.952087+00', NULL);
INSERT INTO public.webhook_deliveries VALUES ('01a20997-4812-760a-87f0-642c338b68b5', '01a20997-4094-710f-b936-97409d6cd9d6', '01a20997-45d8-718e-92dc-a17f6e3b5fa8', 'link.created', '{"id":"01a20997-4812-760a-87f0-642c338b68b5","api_version":"v1","event":"link.created","created_at":"2026-11-23T18:07:19+00:00","data":{"id":"01a20997-4812-714f-8cf8-0b67e4097935","title":"Winter sale","destination_url":"http://127.0.0.1:39543","short_url":"waypost.test/winter","slug":"winter","hostname":"waypost.test","og_title":null,"og_description":"About it","og_image":null,"utm_params":{},"tags":[],"expires_at":null,"pixel_ids":[],"clicks":0,"status":"active","created_at":"2026-11-23T18:07:19.058822Z","updated_at":"2026-11-23T18:07:19.058822Z"}}', 'pending', 1, '2026-11-23 18:07:29.553097+00', NULL, NULL, 'connection refused', '2026-11-23 18:07:19.058822+00', NULL);
INSERT INTO public.webhooks VALUES ('01a20997-45d8-718e-92dc-a17f6e3b5fa8', '01a20997-4094-710f-b936-97409d6cd9d6', 'https://127.0.0.1:8932/hook', '["link.created"]', '\x01c3935e07b6e1ae307f9cff6f8de391ee988258d570ee04c9c76480635032cb6325ce490fca4d0fd63caaf03c235ae42256cf128cea54aa7b872f9f446d2ee2a42169b5dacdace7cd68ab856cc4152c6bae', '2026-11-23 18:07:18.488529+00', '2026-11-23 18:07:18.488529+00');
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
ALTER TABLE ONLY public.domain_app_links
    ADD CONSTRAINT pk_domain_app_links PRIMARY KEY (domain_id);
ALTER TABLE ONLY public.unverified_registrations
    ADD CONSTRAINT pk_domain_claims PRIMARY KEY (account_id, hostname);
ALTER TABLE ONLY public.domains
    ADD CONSTRAINT pk_domains PRIMARY KEY (id);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT pk_idempotency_keys PRIMARY KEY (id);
ALTER TABLE ONLY public.import_checks
    ADD CONSTRAINT pk_import_checks PRIMARY KEY (link_id);
ALTER TABLE ONLY public.import_file_pieces
    ADD CONSTRAINT pk_import_file_pieces PRIMARY KEY (request_id, start);
ALTER TABLE ONLY public.import_refusals
    ADD CONSTRAINT pk_import_refusals PRIMARY KEY (import_id, number);
ALTER TABLE ONLY public.import_requests
    ADD CONSTRAINT pk_import_requests PRIMARY KEY (id);
ALTER TABLE ONLY public.imported_clicks
    ADD CONSTRAINT pk_imported_clicks PRIMARY KEY (link_id);
ALTER TABLE ONLY public.imported_links
    ADD CONSTRAINT pk_imported_links PRIMARY KEY (account_id, key);
ALTER TABLE ONLY public.imported_routing
    ADD CONSTRAINT pk_imported_routing PRIMARY KEY (link_id);
ALTER TABLE ONLY public.imports
    ADD CONSTRAINT pk_imports PRIMARY KEY (id);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT pk_jobs PRIMARY KEY (id);
ALTER TABLE ONLY public.past_emails
    ADD CONSTRAINT pk_left_addresses PRIMARY KEY (digest);
ALTER TABLE ONLY public.link_aliases
    ADD CONSTRAINT pk_link_aliases PRIMARY KEY (id);
ALTER TABLE ONLY public.link_clicks
    ADD CONSTRAINT pk_link_clicks PRIMARY KEY (link_id);
ALTER TABLE ONLY public.link_images
    ADD CONSTRAINT pk_link_images PRIMARY KEY (name);
ALTER TABLE ONLY public.link_pixels
    ADD CONSTRAINT pk_link_pixels PRIMARY KEY (link_id, "position");
ALTER TABLE ONLY public.link_routing
    ADD CONSTRAINT pk_link_routing PRIMARY KEY (link_id);
ALTER TABLE ONLY public.link_tags
    ADD CONSTRAINT pk_link_tags PRIMARY KEY (account_id, tag, link_id);
ALTER TABLE ONLY public.links
    ADD CONSTRAINT pk_links PRIMARY KEY (id);
ALTER TABLE ONLY public.mail_rate_limits
    ADD CONSTRAINT pk_mail_budgets PRIMARY KEY (digest);
ALTER TABLE ONLY public.one_time_tokens
    ADD CONSTRAINT pk_one_time_tokens PRIMARY KEY (digest);
ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT pk_passkeys PRIMARY KEY (id);
ALTER TABLE ONLY public.pixel_events
    ADD CONSTRAINT pk_pixel_events PRIMARY KEY (id);
ALTER TABLE ONLY public.pixel_batches
    ADD CONSTRAINT pk_pixel_lots PRIMARY KEY (pixel_id);
ALTER TABLE ONLY public.pixel_results
    ADD CONSTRAINT pk_pixel_results PRIMARY KEY (pixel_id);
ALTER TABLE ONLY public.pixels
    ADD CONSTRAINT pk_pixels PRIMARY KEY (id);
ALTER TABLE ONLY public.qr_styles
    ADD CONSTRAINT pk_qr_looks PRIMARY KEY (link_id);
ALTER TABLE ONLY public.qr_scans
    ADD CONSTRAINT pk_qr_scans PRIMARY KEY (link_id);
ALTER TABLE ONLY public.rate_limits
    ADD CONSTRAINT pk_rate_limits PRIMARY KEY (key);
ALTER TABLE ONLY public.route_changes
    ADD CONSTRAINT pk_route_changes PRIMARY KEY (id);
ALTER TABLE ONLY public.secret_key_fingerprint
    ADD CONSTRAINT pk_secret_key_fingerprint PRIMARY KEY (id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT pk_sessions PRIMARY KEY (id);
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
ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT uq_passkeys_credential_id UNIQUE (credential_id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT uq_sessions_digest UNIQUE (digest);
ALTER TABLE ONLY public.stripe_customers
    ADD CONSTRAINT uq_stripe_customers_customer_id UNIQUE (customer_id);
CREATE INDEX ix_acme_challenges_created_at ON public.acme_challenges USING btree (created_at);
CREATE INDEX ix_acme_orders_ordered_at ON public.acme_orders USING btree (ordered_at);
CREATE INDEX ix_api_keys_account_id ON public.api_keys USING btree (account_id);
CREATE INDEX ix_bulk_changes_newest ON public.bulk_changes USING btree (account_id, created_at, id);
CREATE INDEX ix_certificates_due ON public.certificates USING btree (due_at, id);
CREATE INDEX ix_certificates_leased ON public.certificates USING btree (leased_until);
CREATE INDEX ix_certificates_updated ON public.certificates USING btree (updated_at);
CREATE INDEX ix_clicks_account ON public.clicks USING btree (day, account_id, created_at, id, kind);
CREATE INDEX ix_clicks_link ON public.clicks USING btree (day, link_id, created_at, id, kind);
CREATE INDEX ix_domains_account ON public.domains USING btree (account_id, created_at, id);
CREATE INDEX ix_domains_due ON public.domains USING btree (check_at);
CREATE INDEX ix_domains_leased ON public.domains USING btree (leased_until);
CREATE INDEX ix_domains_unverified ON public.domains USING btree (unverified_since);
CREATE INDEX ix_idempotency_keys_created_at ON public.idempotency_keys USING btree (created_at);
CREATE INDEX ix_idempotency_keys_share ON public.idempotency_keys USING btree (account_id, answer_bytes);
CREATE INDEX ix_import_checks_account ON public.import_checks USING btree (account_id, checked_at, link_id);
CREATE INDEX ix_import_requests_account ON public.import_requests USING btree (account_id, id);
CREATE INDEX ix_imported_routing_account_id ON public.imported_routing USING btree (account_id);
CREATE INDEX ix_imports_account ON public.imports USING btree (account_id, created_at, id);
CREATE INDEX ix_jobs_waiting ON public.jobs USING btree (run_at) WHERE (failed_at IS NULL);
CREATE INDEX ix_link_aliases_link ON public.link_aliases USING btree (link_id, created_at, id);
CREATE INDEX ix_link_clicks_most ON public.link_clicks USING btree (account_id, clicks, link_id);
CREATE INDEX ix_link_pixels_pixel ON public.link_pixels USING btree (pixel_id, link_id);
CREATE INDEX ix_link_routing_checked_at ON public.link_routing USING btree (checked_at);
CREATE INDEX ix_links_domain ON public.links USING btree (domain_id, created_at, id) WHERE ((domain_id IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX ix_links_image ON public.links USING btree (og_image_file_name) WHERE (og_image_file_name IS NOT NULL);
CREATE INDEX ix_links_limited ON public.links USING btree (account_id, id) WHERE ((deleted_at IS NULL) AND ((starts_at IS NOT NULL) OR (click_limit IS NOT NULL)));
CREATE INDEX ix_links_newest ON public.links USING btree (account_id, created_at, id, is_enabled, expires_at) WHERE (deleted_at IS NULL);
CREATE INDEX ix_links_title ON public.links USING btree (account_id, substr(search_text, 1, 64), created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE INDEX ix_links_trigrams ON public.links USING gin (search_text public.gin_trgm_ops) WITH (fastupdate=off) WHERE (deleted_at IS NULL);
CREATE INDEX ix_mail_rate_limits_sent_at ON public.mail_rate_limits USING btree (sent_at);
CREATE INDEX ix_one_time_tokens_account_id ON public.one_time_tokens USING btree (account_id);
CREATE INDEX ix_one_time_tokens_expires_at ON public.one_time_tokens USING btree (expires_at);
CREATE INDEX ix_passkeys_account_id ON public.passkeys USING btree (account_id);
CREATE INDEX ix_past_emails_recorded_at ON public.past_emails USING btree (recorded_at);
CREATE INDEX ix_pixel_batches_lease ON public.pixel_batches USING btree (leased_until);
CREATE INDEX ix_pixel_events_pixel ON public.pixel_events USING btree (pixel_id, id);
CREATE INDEX ix_pixels_account ON public.pixels USING btree (account_id, id);
CREATE INDEX ix_route_changes_at ON public.route_changes USING btree (at);
CREATE INDEX ix_sessions_account_id ON public.sessions USING btree (account_id);
CREATE INDEX ix_sessions_expires_at ON public.sessions USING btree (expires_at);
CREATE INDEX ix_sessions_passkey_id ON public.sessions USING btree (passkey_id);
CREATE INDEX ix_stripe_checkouts_account_id ON public.stripe_checkouts USING btree (account_id);
CREATE INDEX ix_stripe_events_received_at ON public.stripe_events USING btree (received_at);
CREATE INDEX ix_top_values_cache_account_id ON public.top_values_cache USING btree (account_id);
CREATE INDEX ix_unverified_registrations_ended_at ON public.unverified_registrations USING btree (ended_at);
CREATE INDEX ix_webhook_deliveries_leased ON public.webhook_deliveries USING btree (webhook_id) WHERE (leased_until IS NOT NULL);
CREATE INDEX ix_webhook_deliveries_log ON public.webhook_deliveries USING btree (webhook_id, id, status, event);
CREATE INDEX ix_webhook_deliveries_pending ON public.webhook_deliveries USING btree (webhook_id, next_attempt_at, id) WHERE (status = 'pending'::text);
CREATE INDEX ix_webhooks_account ON public.webhooks USING btree (account_id, id);
CREATE UNIQUE INDEX uq_link_aliases_address ON public.link_aliases USING btree (domain_id, digest);
CREATE UNIQUE INDEX uq_links_slug ON public.links USING btree (slug) WHERE (deleted_at IS NULL);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT fk_api_keys_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.top_values_cache
    ADD CONSTRAINT fk_click_leaders_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT fk_idempotency_keys_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.import_checks
    ADD CONSTRAINT fk_import_checks_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.import_file_pieces
    ADD CONSTRAINT fk_import_file_pieces_request_id FOREIGN KEY (request_id) REFERENCES public.import_requests(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.import_refusals
    ADD CONSTRAINT fk_import_refusals_import_id FOREIGN KEY (import_id) REFERENCES public.imports(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.import_requests
    ADD CONSTRAINT fk_import_requests_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.imported_links
    ADD CONSTRAINT fk_imported_links_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.imported_routing
    ADD CONSTRAINT fk_imported_routing_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.imports
    ADD CONSTRAINT fk_imports_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.links
    ADD CONSTRAINT fk_links_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.one_time_tokens
    ADD CONSTRAINT fk_one_time_tokens_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT fk_passkeys_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.pixel_results
    ADD CONSTRAINT fk_pixel_results_pixel_id FOREIGN KEY (pixel_id) REFERENCES public.pixels(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT fk_sessions_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT fk_sessions_passkey_id FOREIGN KEY (passkey_id) REFERENCES public.passkeys(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.stripe_checkouts
    ADD CONSTRAINT fk_stripe_checkouts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.stripe_customers
    ADD CONSTRAINT fk_stripe_customers_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;


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
    platform text NOT NULL
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
    og_image_bytes integer DEFAULT 0 NOT NULL
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
INSERT INTO public.accounts VALUES ('01a20689-146d-73ad-b171-591c9bd19501', 'owner@example.com', 'owner', NULL, 'lifetime', NULL, NULL, NULL, 2, '2026-11-23 03:52:56.685477+00', '2026-11-23 03:52:56.685477+00', '2026-11-23 03:52:56.685477+00', NULL, 0);
INSERT INTO public.alembic_version VALUES ('0031', '0030');
INSERT INTO public.api_keys VALUES ('01a20689-1821-7191-9603-072d001f9d85', '01a20689-146d-73ad-b171-591c9bd19501', 'journey', 'wp_live_KaRt', 'f750be74f778ce0dc7e606e64111d8b861c3337388009b90b6c2229038103e40', '["links:read", "links:write", "domains:read", "domains:write", "pixels:read", "pixels:write", "webhooks:manage"]', '2026-11-23 03:53:14.921393+00', NULL, NULL, '2026-11-23 03:52:57.632764+00');
INSERT INTO public.click_dimensions VALUES (20780, '01a20689-146d-73ad-b171-591c9bd19501', 1, '', 4);
INSERT INTO public.click_dimensions VALUES (20780, '01a20689-146d-73ad-b171-591c9bd19501', 2, '', 4);
INSERT INTO public.click_dimensions VALUES (20780, '01a20689-146d-73ad-b171-591c9bd19501', 3, 'desktop	Firefox	Linux', 4);
INSERT INTO public.click_dimensions VALUES (20780, '01a20689-146d-73ad-b171-591c9bd19501', 4, '01a206895fae76d4a7d701c4fc971bc1', 3);
INSERT INTO public.click_dimensions VALUES (20780, '01a20689-146d-73ad-b171-591c9bd19501', 4, '01a2068960c1739dae20cfa6fe33a066', 1);
INSERT INTO public.click_dimensions VALUES (20780, '01a20689-5fae-76d4-a7d7-01c4fc971bc1', 1, '', 3);
INSERT INTO public.click_dimensions VALUES (20780, '01a20689-5fae-76d4-a7d7-01c4fc971bc1', 2, '', 3);
INSERT INTO public.click_dimensions VALUES (20780, '01a20689-5fae-76d4-a7d7-01c4fc971bc1', 3, 'desktop	Firefox	Linux', 3);
INSERT INTO public.click_dimensions VALUES (20780, '01a20689-60c1-739d-ae20-cfa6fe33a066', 1, '', 1);
INSERT INTO public.click_dimensions VALUES (20780, '01a20689-60c1-739d-ae20-cfa6fe33a066', 2, '', 1);
INSERT INTO public.click_dimensions VALUES (20780, '01a20689-60c1-739d-ae20-cfa6fe33a066', 3, 'desktop	Firefox	Linux', 1);
INSERT INTO public.click_totals VALUES (20780, '01a20689-146d-73ad-b171-591c9bd19501', -1, 4, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-23 03:53:16.34794+00', '2026-11-23 03:53:16.46656+00');
INSERT INTO public.click_totals VALUES (20780, '01a20689-146d-73ad-b171-591c9bd19501', 15, 4, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-23 03:53:16.34794+00', '2026-11-23 03:53:16.46656+00');
INSERT INTO public.click_totals VALUES (20780, '01a20689-5fae-76d4-a7d7-01c4fc971bc1', -1, 3, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-23 03:53:16.34794+00', '2026-11-23 03:53:16.382598+00');
INSERT INTO public.click_totals VALUES (20780, '01a20689-5fae-76d4-a7d7-01c4fc971bc1', 15, 3, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-23 03:53:16.34794+00', '2026-11-23 03:53:16.382598+00');
INSERT INTO public.click_totals VALUES (20780, '01a20689-60c1-739d-ae20-cfa6fe33a066', -1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-23 03:53:16.46656+00', '2026-11-23 03:53:16.46656+00');
INSERT INTO public.click_totals VALUES (20780, '01a20689-60c1-739d-ae20-cfa6fe33a066', 15, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, '2026-11-23 03:53:16.46656+00', '2026-11-23 03:53:16.46656+00');
INSERT INTO public.clicks VALUES ('01a20689-613b-753d-afd0-dbe3e3015f4a', '01a20689-146d-73ad-b171-591c9bd19501', '01a20689-5fae-76d4-a7d7-01c4fc971bc1', 20780, '2026-11-23 03:53:16.34794+00', 'human', NULL, false, '127.0.0.1', '', -668644400294223985, '', 'desktop', 'Firefox', 'Linux');
INSERT INTO public.clicks VALUES ('01a20689-614a-767a-9a24-74534f387ae4', '01a20689-146d-73ad-b171-591c9bd19501', '01a20689-5fae-76d4-a7d7-01c4fc971bc1', 20780, '2026-11-23 03:53:16.362516+00', 'human', NULL, false, '127.0.0.1', '', -668644400294223985, '', 'desktop', 'Firefox', 'Linux');
INSERT INTO public.clicks VALUES ('01a20689-615e-71ca-8fde-f647c66f9bfa', '01a20689-146d-73ad-b171-591c9bd19501', '01a20689-5fae-76d4-a7d7-01c4fc971bc1', 20780, '2026-11-23 03:53:16.382598+00', 'human', NULL, false, '127.0.0.1', '', -668644400294223985, '', 'desktop', 'Firefox', 'Linux');
INSERT INTO public.clicks VALUES ('01a20689-61b2-7316-af2e-2445490bc10a', '01a20689-146d-73ad-b171-591c9bd19501', '01a20689-60c1-739d-ae20-cfa6fe33a066', 20780, '2026-11-23 03:53:16.46656+00', 'human', NULL, false, '127.0.0.1', '', -668644400294223985, '', 'desktop', 'Firefox', 'Linux');
INSERT INTO public.domains VALUES ('01a20689-5e72-7376-a8f8-43512a84fb1e', '01a20689-146d-73ad-b171-591c9bd19501', 'go.example.com', 'waypost-5d502565cef5897adc62c1fc1ed10098', 'pending', false, NULL, NULL, NULL, 0, '2026-11-23 03:53:15.634616+00', NULL, NULL, NULL, NULL, NULL, 0, 'none', NULL, NULL, '2026-11-23 03:53:15.634616+00', '2026-11-23 03:53:15.634616+00', false);
INSERT INTO public.link_clicks VALUES ('01a20689-5fae-76d4-a7d7-01c4fc971bc1', '01a20689-146d-73ad-b171-591c9bd19501', 3);
INSERT INTO public.link_clicks VALUES ('01a20689-60c1-739d-ae20-cfa6fe33a066', '01a20689-146d-73ad-b171-591c9bd19501', 1);
INSERT INTO public.link_pixels VALUES ('01a20689-5fae-76d4-a7d7-01c4fc971bc1', 0, '01a20689-5ba9-734f-bb4a-140415a599a6');
INSERT INTO public.link_tags VALUES ('01a20689-146d-73ad-b171-591c9bd19501', 'sale', '01a20689-5fae-76d4-a7d7-01c4fc971bc1');
INSERT INTO public.links VALUES ('01a20689-5fae-76d4-a7d7-01c4fc971bc1', '01a20689-146d-73ad-b171-591c9bd19501', 'summer', 'http://127.0.0.1:41567', 'A page', NULL, 'About it', NULL, NULL, '{}', '["sale"]', 'a page
summer
http://127.0.0.1:41567', NULL, true, '2026-11-23 03:53:15.951013+00', '2026-11-23 03:53:15.951013+00', NULL, NULL, 0);
INSERT INTO public.links VALUES ('01a20689-60c1-739d-ae20-cfa6fe33a066', '01a20689-146d-73ad-b171-591c9bd19501', 'winter', 'http://127.0.0.1:41567', 'Winter sale', NULL, 'About it', NULL, NULL, '{}', '[]', 'winter sale
winter
http://127.0.0.1:41567', NULL, true, '2026-11-23 03:53:16.225429+00', '2026-11-23 03:53:16.225429+00', NULL, NULL, 0);
INSERT INTO public.pixels VALUES ('01a20689-5ba9-734f-bb4a-140415a599a6', '01a20689-146d-73ad-b171-591c9bd19501', 'facebook', 'Shop', '\x01c3935e079832b67b066487855c9d02b3f0615b9b93e1ea275ada60be9a9dfff369c695bec982ecd0a4b79a390642be', NULL, '2026-11-23 03:53:14.921979+00', '2026-11-23 03:53:14.921979+00');
INSERT INTO public.rate_limits VALUES ('\xe7fc0e25cb121e7942af08be2ba7793f', '{"2026-11-23 03:53:14.919391+00","2026-11-23 03:53:15.023556+00","2026-11-23 03:53:15.114505+00","2026-11-23 03:53:15.82867+00","2026-11-23 03:53:16.176429+00","2026-11-23 03:53:16.494496+00","2026-11-23 03:53:18.570382+00","2026-11-23 03:53:20.590574+00","2026-11-23 03:53:22.653964+00"}', 1);
INSERT INTO public.secret_key_fingerprint VALUES (1, '\xfc515c4e358eda9ff8cdb91995f501cb1e65b2c3936ede22813234f42adc4748');
INSERT INTO public.sessions VALUES ('01a20689-7cbc-71ac-884b-b4c3b90bfe8f', '35ee278c2879af638a52efe731126da20ea5c62294c89312b38097beadbe1978', '01a20689-146d-73ad-b171-591c9bd19501', 'python-httpx/0.28.1', '127.0.0.1', '2026-11-23 03:53:23.386602+00', '2026-11-23 03:53:23.386602+00', '2026-12-23 03:53:23.386602+00', '2026-11-23 03:53:23.386602+00', NULL);
INSERT INTO public.slugs VALUES ('summer', '01a20689-146d-73ad-b171-591c9bd19501', '01a20689-5fae-76d4-a7d7-01c4fc971bc1');
INSERT INTO public.slugs VALUES ('winter', '01a20689-146d-73ad-b171-591c9bd19501', '01a20689-60c1-739d-ae20-cfa6fe33a066');
INSERT INTO public.spool_positions VALUES ('01a20689-5493-761b-ac61-f8fbde355a6f.visits', 803, NULL, NULL);
INSERT INTO public.visitor_days VALUES (20780, -668644400294223985, '01a20689-146d-73ad-b171-591c9bd19501', 32768, 0);
INSERT INTO public.visitor_days VALUES (20780, -668644400294223985, '01a20689-5fae-76d4-a7d7-01c4fc971bc1', 32768, 0);
INSERT INTO public.visitor_days VALUES (20780, -668644400294223985, '01a20689-60c1-739d-ae20-cfa6fe33a066', 32768, 0);
INSERT INTO public.webhook_deliveries VALUES ('01a20689-5fae-762c-8124-9867a4d24a66', '01a20689-146d-73ad-b171-591c9bd19501', '01a20689-5c2b-77bd-aa38-5eed7a913d1e', 'link.created', '{"id":"01a20689-5fae-762c-8124-9867a4d24a66","api_version":"v1","event":"link.created","created_at":"2026-11-23T03:53:15+00:00","data":{"id":"01a20689-5fae-76d4-a7d7-01c4fc971bc1","title":"A page","destination_url":"http://127.0.0.1:41567","short_url":"waypost.test/summer","slug":"summer","hostname":"waypost.test","og_title":null,"og_description":"About it","og_image":null,"utm_params":{},"tags":["sale"],"expires_at":null,"pixel_ids":["01a20689-5ba9-734f-bb4a-140415a599a6"],"clicks":0,"status":"active","created_at":"2026-11-23T03:53:15.951013Z","updated_at":"2026-11-23T03:53:15.951013Z"}}', 'pending', 1, '2026-11-23 03:53:30.881511+00', NULL, NULL, 'connection refused', '2026-11-23 03:53:15.951013+00', NULL);
INSERT INTO public.webhook_deliveries VALUES ('01a20689-60c1-7f8c-ba94-37a9f3c6d40a', '01a20689-146d-73ad-b171-591c9bd19501', '01a20689-5c2b-77bd-aa38-5eed7a913d1e', 'link.created', '{"id":"01a20689-60c1-7f8c-ba94-37a9f3c6d40a","api_version":"v1","event":"link.created","created_at":"2026-11-23T03:53:16+00:00","data":{"id":"01a20689-60c1-739d-ae20-cfa6fe33a066","title":"Winter sale","destination_url":"http://127.0.0.1:41567","short_url":"waypost.test/winter","slug":"winter","hostname":"waypost.test","og_title":null,"og_description":"About it","og_image":null,"utm_params":{},"tags":[],"expires_at":null,"pixel_ids":[],"clicks":0,"status":"active","created_at":"2026-11-23T03:53:16.225429Z","updated_at":"2026-11-23T03:53:16.225429Z"}}', 'pending', 1, '2026-11-23 03:53:30.881742+00', NULL, NULL, 'connection refused', '2026-11-23 03:53:16.225429+00', NULL);
INSERT INTO public.webhooks VALUES ('01a20689-5c2b-77bd-aa38-5eed7a913d1e', '01a20689-146d-73ad-b171-591c9bd19501', 'https://127.0.0.1:8932/hook', '["link.created"]', '\x01c3935e07db03216226c94a2f6533816bed86eef5544fd61b1a75cea22134b07f853f012c78f755abff1b9879f8ae658c45f002f11b1c82a48e48685454bc84f0426f5361ded1495ed41a2ac6f1fe99d32e', '2026-11-23 03:53:15.051732+00', '2026-11-23 03:53:15.051732+00');
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
ALTER TABLE ONLY public.unverified_registrations
    ADD CONSTRAINT pk_domain_claims PRIMARY KEY (account_id, hostname);
ALTER TABLE ONLY public.domains
    ADD CONSTRAINT pk_domains PRIMARY KEY (id);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT pk_jobs PRIMARY KEY (id);
ALTER TABLE ONLY public.past_emails
    ADD CONSTRAINT pk_left_addresses PRIMARY KEY (digest);
ALTER TABLE ONLY public.link_clicks
    ADD CONSTRAINT pk_link_clicks PRIMARY KEY (link_id);
ALTER TABLE ONLY public.link_images
    ADD CONSTRAINT pk_link_images PRIMARY KEY (name);
ALTER TABLE ONLY public.link_pixels
    ADD CONSTRAINT pk_link_pixels PRIMARY KEY (link_id, "position");
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
ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT uq_passkeys_credential_id UNIQUE (credential_id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT uq_sessions_digest UNIQUE (digest);
ALTER TABLE ONLY public.stripe_customers
    ADD CONSTRAINT uq_stripe_customers_customer_id UNIQUE (customer_id);
CREATE INDEX ix_acme_challenges_created_at ON public.acme_challenges USING btree (created_at);
CREATE INDEX ix_acme_orders_ordered_at ON public.acme_orders USING btree (ordered_at);
CREATE INDEX ix_api_keys_account_id ON public.api_keys USING btree (account_id);
CREATE INDEX ix_certificates_due ON public.certificates USING btree (due_at, id);
CREATE INDEX ix_certificates_leased ON public.certificates USING btree (leased_until);
CREATE INDEX ix_certificates_updated ON public.certificates USING btree (updated_at);
CREATE INDEX ix_clicks_account ON public.clicks USING btree (day, account_id, created_at, id, kind);
CREATE INDEX ix_clicks_link ON public.clicks USING btree (day, link_id, created_at, id, kind);
CREATE INDEX ix_domains_account ON public.domains USING btree (account_id, created_at, id);
CREATE INDEX ix_domains_due ON public.domains USING btree (check_at);
CREATE INDEX ix_domains_leased ON public.domains USING btree (leased_until);
CREATE INDEX ix_domains_unverified ON public.domains USING btree (unverified_since);
CREATE INDEX ix_jobs_waiting ON public.jobs USING btree (run_at) WHERE (failed_at IS NULL);
CREATE INDEX ix_link_clicks_most ON public.link_clicks USING btree (account_id, clicks, link_id);
CREATE INDEX ix_link_pixels_pixel ON public.link_pixels USING btree (pixel_id, link_id);
CREATE INDEX ix_links_domain ON public.links USING btree (domain_id, created_at, id) WHERE ((domain_id IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX ix_links_image ON public.links USING btree (og_image_file_name) WHERE (og_image_file_name IS NOT NULL);
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
CREATE UNIQUE INDEX uq_links_slug ON public.links USING btree (slug) WHERE (deleted_at IS NULL);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT fk_api_keys_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.top_values_cache
    ADD CONSTRAINT fk_click_leaders_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
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

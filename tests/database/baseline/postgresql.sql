CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;
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
    closed_at timestamp with time zone,
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
    answer text NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.acme_orders (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    ordered_at timestamp with time zone NOT NULL
);
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
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
CREATE TABLE public.click_leaders (
    subject_id uuid NOT NULL,
    period text NOT NULL,
    account_id uuid NOT NULL,
    first_day integer NOT NULL,
    last_day integer NOT NULL,
    clicks bigint NOT NULL,
    leaders text NOT NULL,
    attempt uuid NOT NULL
);
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
CREATE TABLE public.domain_claims (
    account_id uuid NOT NULL,
    hostname text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone NOT NULL,
    ended_at timestamp with time zone NOT NULL
);
CREATE TABLE public.domains (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    hostname text NOT NULL COLLATE pg_catalog."C",
    token text NOT NULL,
    status text NOT NULL,
    is_live boolean NOT NULL,
    verified_at timestamp with time zone,
    last_checked_at timestamp with time zone,
    error text,
    failures smallint NOT NULL,
    unverified_since timestamp with time zone,
    check_at timestamp with time zone,
    leased_until timestamp with time zone,
    told_at timestamp with time zone,
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
CREATE TABLE public.left_addresses (
    digest character varying(64) NOT NULL,
    trial_ends_at timestamp with time zone NOT NULL,
    left_at timestamp with time zone NOT NULL
);
CREATE TABLE public.link_clicks (
    link_id uuid NOT NULL,
    account_id uuid NOT NULL,
    clicks bigint NOT NULL
);
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
    og_image_media text,
    utm_params jsonb NOT NULL,
    tags jsonb NOT NULL,
    search_text text NOT NULL,
    expires_at timestamp with time zone,
    is_on boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    domain_id uuid,
    og_image_bytes integer DEFAULT 0 NOT NULL
);
CREATE TABLE public.mail_budgets (
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
CREATE TABLE public.pixel_events (
    id uuid NOT NULL,
    pixel_id uuid NOT NULL,
    platform text NOT NULL,
    payload text NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.pixel_lots (
    pixel_id uuid NOT NULL,
    last_event uuid NOT NULL,
    attempts smallint NOT NULL,
    next_attempt_at timestamp with time zone NOT NULL,
    leased_until timestamp with time zone
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
CREATE TABLE public.qr_looks (
    link_id uuid NOT NULL,
    foreground text NOT NULL,
    background text NOT NULL,
    level text NOT NULL,
    style text NOT NULL,
    size smallint NOT NULL,
    margin smallint NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.qr_scans (
    link_id uuid NOT NULL,
    scans bigint NOT NULL
)
WITH (fillfactor='80');
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
    "position" bigint NOT NULL
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
    answer text
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
ALTER TABLE ONLY public.click_leaders
    ADD CONSTRAINT pk_click_leaders PRIMARY KEY (subject_id, period);
ALTER TABLE ONLY public.click_retention
    ADD CONSTRAINT pk_click_retention PRIMARY KEY (id);
ALTER TABLE ONLY public.click_totals
    ADD CONSTRAINT pk_click_totals PRIMARY KEY (day, subject_id, quarter);
ALTER TABLE ONLY public.clicks
    ADD CONSTRAINT pk_clicks PRIMARY KEY (id);
ALTER TABLE ONLY public.domain_claims
    ADD CONSTRAINT pk_domain_claims PRIMARY KEY (account_id, hostname);
ALTER TABLE ONLY public.domains
    ADD CONSTRAINT pk_domains PRIMARY KEY (id);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT pk_jobs PRIMARY KEY (id);
ALTER TABLE ONLY public.left_addresses
    ADD CONSTRAINT pk_left_addresses PRIMARY KEY (digest);
ALTER TABLE ONLY public.link_clicks
    ADD CONSTRAINT pk_link_clicks PRIMARY KEY (link_id);
ALTER TABLE ONLY public.link_pixels
    ADD CONSTRAINT pk_link_pixels PRIMARY KEY (link_id, "position");
ALTER TABLE ONLY public.link_tags
    ADD CONSTRAINT pk_link_tags PRIMARY KEY (account_id, tag, link_id);
ALTER TABLE ONLY public.links
    ADD CONSTRAINT pk_links PRIMARY KEY (id);
ALTER TABLE ONLY public.mail_budgets
    ADD CONSTRAINT pk_mail_budgets PRIMARY KEY (digest);
ALTER TABLE ONLY public.one_time_tokens
    ADD CONSTRAINT pk_one_time_tokens PRIMARY KEY (digest);
ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT pk_passkeys PRIMARY KEY (id);
ALTER TABLE ONLY public.pixel_events
    ADD CONSTRAINT pk_pixel_events PRIMARY KEY (id);
ALTER TABLE ONLY public.pixel_lots
    ADD CONSTRAINT pk_pixel_lots PRIMARY KEY (pixel_id);
ALTER TABLE ONLY public.pixel_results
    ADD CONSTRAINT pk_pixel_results PRIMARY KEY (pixel_id);
ALTER TABLE ONLY public.pixels
    ADD CONSTRAINT pk_pixels PRIMARY KEY (id);
ALTER TABLE ONLY public.qr_looks
    ADD CONSTRAINT pk_qr_looks PRIMARY KEY (link_id);
ALTER TABLE ONLY public.qr_scans
    ADD CONSTRAINT pk_qr_scans PRIMARY KEY (link_id);
ALTER TABLE ONLY public.route_changes
    ADD CONSTRAINT pk_route_changes PRIMARY KEY (id);
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
CREATE INDEX ix_click_leaders_account_id ON public.click_leaders USING btree (account_id);
CREATE INDEX ix_clicks_account ON public.clicks USING btree (day, account_id, created_at, id, kind);
CREATE INDEX ix_clicks_link ON public.clicks USING btree (day, link_id, created_at, id, kind);
CREATE INDEX ix_domain_claims_ended_at ON public.domain_claims USING btree (ended_at);
CREATE INDEX ix_domains_account ON public.domains USING btree (account_id, created_at, id);
CREATE INDEX ix_domains_due ON public.domains USING btree (check_at);
CREATE INDEX ix_domains_leased ON public.domains USING btree (leased_until);
CREATE INDEX ix_domains_unverified ON public.domains USING btree (unverified_since);
CREATE INDEX ix_jobs_waiting ON public.jobs USING btree (run_at) WHERE (failed_at IS NULL);
CREATE INDEX ix_left_addresses_left_at ON public.left_addresses USING btree (left_at);
CREATE INDEX ix_link_clicks_most ON public.link_clicks USING btree (account_id, clicks, link_id);
CREATE INDEX ix_link_pixels_pixel ON public.link_pixels USING btree (pixel_id, link_id);
CREATE INDEX ix_links_domain ON public.links USING btree (domain_id, created_at, id) WHERE ((domain_id IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX ix_links_newest ON public.links USING btree (account_id, created_at, id, is_on, expires_at) WHERE (deleted_at IS NULL);
CREATE INDEX ix_links_title ON public.links USING btree (account_id, substr(search_text, 1, 64), created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE INDEX ix_links_trigrams ON public.links USING gin (search_text public.gin_trgm_ops) WITH (fastupdate=off) WHERE (deleted_at IS NULL);
CREATE INDEX ix_mail_budgets_sent_at ON public.mail_budgets USING btree (sent_at);
CREATE INDEX ix_one_time_tokens_account_id ON public.one_time_tokens USING btree (account_id);
CREATE INDEX ix_one_time_tokens_expires_at ON public.one_time_tokens USING btree (expires_at);
CREATE INDEX ix_passkeys_account_id ON public.passkeys USING btree (account_id);
CREATE INDEX ix_pixel_events_pixel ON public.pixel_events USING btree (pixel_id, id);
CREATE INDEX ix_pixel_lots_lease ON public.pixel_lots USING btree (leased_until);
CREATE INDEX ix_pixels_account ON public.pixels USING btree (account_id, id);
CREATE INDEX ix_route_changes_at ON public.route_changes USING btree (at);
CREATE INDEX ix_sessions_account_id ON public.sessions USING btree (account_id);
CREATE INDEX ix_sessions_expires_at ON public.sessions USING btree (expires_at);
CREATE INDEX ix_sessions_passkey_id ON public.sessions USING btree (passkey_id);
CREATE INDEX ix_stripe_checkouts_account_id ON public.stripe_checkouts USING btree (account_id);
CREATE INDEX ix_stripe_events_received_at ON public.stripe_events USING btree (received_at);
CREATE INDEX ix_webhook_deliveries_leased ON public.webhook_deliveries USING btree (webhook_id) WHERE (leased_until IS NOT NULL);
CREATE INDEX ix_webhook_deliveries_log ON public.webhook_deliveries USING btree (webhook_id, id, status, event);
CREATE INDEX ix_webhook_deliveries_pending ON public.webhook_deliveries USING btree (webhook_id, next_attempt_at, id) WHERE (status = 'pending'::text);
CREATE INDEX ix_webhooks_account ON public.webhooks USING btree (account_id, id);
CREATE UNIQUE INDEX uq_links_slug ON public.links USING btree (slug) WHERE (deleted_at IS NULL);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT fk_api_keys_account_id FOREIGN KEY (account_id) REFERENCES public.accounts(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.click_leaders
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

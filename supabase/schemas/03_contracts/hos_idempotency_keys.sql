-- One answer per key: an effect and its answer commit together, so the same request again gets the
-- same bytes.

-- The answer to a request that carried a key. A row is committed only together with its answer.
-- While a request runs, its twin meets a lock on the unique index; nobody else sees it.
create table public.hos_idempotency_keys (
  id uuid primary key default private.uuid_v7(),
  tenant_id uuid not null,    -- the site whose record is changed
  scope text not null,        -- what is asked for, and for a person by whom
  key text not null,
  request_hash text not null,
  status text not null default 'processing',
  response_status int,
  response_json text,         -- the bytes that were answered; jsonb would write them anew
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz not null,
  constraint one_answer_per_key unique (tenant_id, scope, key),
  constraint scope_is_bounded check (char_length(scope) between 1 and 64),
  constraint key_has_1_to_255_characters check (char_length(key) between 1 and 255),
  constraint request_hash_is_sha_256 check (request_hash ~ '^[0-9a-f]{64}$'),
  constraint key_status_is_known check (status in ('processing', 'completed', 'failed')),
  constraint finished_keys_have_an_answer check (
    (status = 'processing') = (response_json is null and response_status is null))
);
create index keys_by_expiry on public.hos_idempotency_keys (expires_at);
alter table public.hos_idempotency_keys enable row level security;

-- idempotency_ttl: how long an answer can be asked for again. Longer than any caller's own retries;
-- "alter database … set opsmantik.idempotency_ttl" changes it.
create function private.idempotency_ttl() returns interval
language sql stable set search_path = ''
as $$
  select coalesce(
    nullif(current_setting('opsmantik.idempotency_ttl', true), '')::interval,
    interval '7 days')
$$;

-- problem_text: a refusal as the bytes that a caller gets. The request's id is in a header instead,
-- because a repeated request must get the same bytes.
create function private.problem_text(p_status int, p_code text, p_facts jsonb) returns text
language sql immutable set search_path = ''
as $$
  select (jsonb_build_object(
    'type', 'https://opsmantik.com/errors#' || p_code,
    'status', p_status,
    'code', p_code,
    'title', left(p_code, 1) || lower(replace(substr(p_code, 2), '_', ' ')) || '.')
    || coalesce(p_facts, '{}'))::text
$$;

-- answer_once: runs an effect and stores its answer under the caller's key, or gives the stored
-- answer again.
--   Takes    p_effect: a function of ours (jsonb) -> jsonb. Without a key it just runs. A person's
--            keys are their own: whoever calls a function themselves says what the request's hash
--            is, and could have a machine answered for what it never did.
--   Safe     against a twin at the same moment: it waits at the unique index and then replays.
--            After 5 s it gives up: 409, try again.
--   Keeps    answers, and refusals that another try cannot change (409). Any other failure leaves
--            nothing, so a retry runs again.
--   Returns  {status, replayed, body}: the body is text, served as it is.
--   Refuses  400 for a key that is empty or longer than 255 characters, 422 for a key that was
--            used with another request.
create function private.answer_once(
  p_tenant_id uuid, p_scope text, p_key text, p_request_hash text, p_effect regproc, p_args jsonb
) returns jsonb
language plpgsql security definer set search_path = '' set lock_timeout = '5s'
as $$
declare
  v_now timestamptz := private.current_moment();
  v_scope text := p_scope || coalesce('/' || auth.uid(), '');
  v_kept public.hos_idempotency_keys;
  v_id uuid;
  v_answer jsonb;
  v_body text;
  v_status int := 200;
  v_code text;
  v_facts text;
begin
  if p_key is null then
    execute format('select %s($1)', p_effect) into v_answer using p_args;
    return jsonb_build_object('status', 200, 'replayed', false, 'body', v_answer::text);
  end if;
  if char_length(p_key) not between 1 and 255 then
    perform private.fail(400, 'INVALID_IDEMPOTENCY_KEY');
  end if;
  -- Three times: the twin we met may roll back, or its key expire, before we can read it.
  for v_try in 1..3 loop
    begin
      insert into public.hos_idempotency_keys
          (tenant_id, scope, key, request_hash, created_at, updated_at, expires_at)
        values (p_tenant_id, v_scope, p_key, p_request_hash, v_now, v_now,
          v_now + private.idempotency_ttl())
        on conflict (tenant_id, scope, key) do nothing
        returning id into v_id;
    exception when lock_not_available then
      perform private.fail(409, 'REQUEST_IN_FLIGHT');
    end;
    exit when v_id is not null;
    select k.* into v_kept from public.hos_idempotency_keys k
      where k.tenant_id = p_tenant_id and k.scope = v_scope and k.key = p_key;
    if v_kept.id is not null then
      if v_kept.request_hash <> p_request_hash then
        perform private.fail(422, 'IDEMPOTENCY_KEY_REUSED');
      end if;
      return jsonb_build_object(
        'status', v_kept.response_status, 'replayed', true, 'body', v_kept.response_json);
    end if;
  end loop;
  if v_id is null then
    perform private.fail(409, 'REQUEST_IN_FLIGHT');
  end if;
  begin
    execute format('select %s($1)', p_effect) into v_answer using p_args;
    v_body := v_answer::text;
  exception when sqlstate 'PT409' then
    get stacked diagnostics v_code = message_text, v_facts = pg_exception_detail;
    v_status := 409;
    v_body := private.problem_text(409, v_code, nullif(v_facts, '')::jsonb);
  end;
  update public.hos_idempotency_keys k
    set status = case when v_status < 400 then 'completed' else 'failed' end,
        response_status = v_status,
        response_json = v_body,
        updated_at = v_now
    where k.id = v_id;
  return jsonb_build_object('status', v_status, 'replayed', false, 'body', v_body);
end
$$;

-- answer_plainly: for a change whose key is optional. With a key it is answer_once; without one it
-- returns the effect's own answer.
create function private.answer_plainly(
  p_tenant_id uuid, p_scope text, p_key text, p_request_hash text, p_effect regproc, p_args jsonb
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_answer jsonb;
begin
  if p_key is not null then
    return private.answer_once(p_tenant_id, p_scope, p_key, p_request_hash, p_effect, p_args);
  end if;
  execute format('select %s($1)', p_effect) into v_answer using p_args;
  return v_answer;
end
$$;

-- purge_idempotency_keys: forgets answers that have expired. A request that still runs is not
-- committed, so it is never seen here.
--   Returns  {purged}; at most p_limit a call.
--   Callers  service role only (daily cron).
create function public.purge_idempotency_keys(p_limit int default 5000) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_purged int;
begin
  delete from public.hos_idempotency_keys k where k.id in (
    select x.id from public.hos_idempotency_keys x
    where x.expires_at < private.current_moment() and x.status <> 'processing'
    order by x.expires_at limit least(greatest(p_limit, 1), 20000) for update skip locked);
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;
grant execute on function public.purge_idempotency_keys(int) to opsmantik_app, service_role;

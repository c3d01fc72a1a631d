-- Why a sale is not counted at Google.

-- why_not_counted: the first broken link between the click and Google's verdict.
--   Returns  {saleId, link, code, at, facts}. The links and their codes, in the order of the chain:
--            CANCELLED (the code says what happened at Google), CLICK (NO_CLICK_ID, NO_MATCH),
--            CONSENT, CLICK_AGE, ARCHIVED (the site; nothing waiting is sent), SEAL (a draft),
--            HELD (an earlier sale of the lead must be taken back first),
--            WAITS (UNDO_WINDOW, CLICK_TOO_YOUNG, GOOGLE_ASKED), CONNECTION, BLOCKED,
--            ACTION (MISSING, NAME_DIFFERS, OTHER_ACCOUNT, or why Google refuses it),
--            WAITS (QUOTA), CIRCUIT,
--            WAITS (VAULT_KEY_MISSING, VAULT_KEY_MISMATCH, CREDENTIALS_UNREADABLE),
--            RETRIES (the error of the last attempt), WAITS (CONCURRENCY_LIMIT, SCRIPT_RUN, DUE),
--            IN_FLIGHT, FAILED, REJECTED, VERDICT (not yet), UNKNOWN,
--            NO_VERDICT (the transport, which gives none), DUPLICATE, COUNTED.
--            `at` is when it happened, or when it continues. facts.archivedAt is set on an archived
--            site, where nothing can change until an owner restores it; canRestore: the caller may.
--   Refuses  404 NOT_FOUND for a sale of another site.
--   Callers  viewers.
create function public.why_not_counted(p_public_id text, p_sale_id uuid) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_sale public.sales;
  v_sent public.provider_dispatches;
  v_row public.offline_conversion_queue;
  v_why jsonb;
begin
  select s.* into v_sale from public.sales s where s.id = p_sale_id and s.site_id = v_site.id;
  if v_sale.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  -- The conversion that Google has; without one, the newest that it rejected.
  select d.* into v_sent from public.provider_dispatches d
    where d.sale_id = v_sale.id and d.provider_key = 'google_ads' and d.kind = 'CONVERSION'
    order by d.verdict is distinct from 'REJECTED' desc, d.dispatched_at desc, d.id desc limit 1;
  select q.* into v_row from public.offline_conversion_queue q
    where q.sale_id = v_sale.id and q.provider_key = 'google_ads' and q.kind = 'CONVERSION'
    order by q.created_at desc, q.id desc limit 1;
  v_why := case
    when v_sale.status = 'CANCELED' then private.why_cancelled(v_site, v_sale)
    when v_sent.verdict is distinct from 'REJECTED' and v_sent.id is not null
        and not (v_sent.verdict is not distinct from 'UNKNOWN'   -- it is sent again
          and v_row.status = any (private.open_states()))
      then private.why_sent(v_sent)
    when v_sale.delivery_block is not null
      then private.why_blocked(v_sale.delivery_block, v_sale.clicked_at)
    when v_sale.status = 'DRAFT' and v_site.archived_at is not null
      then private.link('ARCHIVED', null, v_site.archived_at)
    when v_sale.status = 'DRAFT' then private.link('SEAL', 'DRAFT', v_sale.created_at)
    when v_row.status = any (private.waiting_states())
      then private.why_waiting(v_site, v_sale, v_row)
    when v_row.status = 'PROCESSING' then private.link('IN_FLIGHT',
      case when v_row.claimed_at < private.current_moment() - private.stuck_after()
        then 'STUCK' end,
      v_row.claimed_at)
    when v_row.status = 'FAILED' then private.why_failed(v_site, v_sale, v_row)
    when v_sent.id is not null
      then private.link('REJECTED', v_sent.verdict_reason, v_sent.verdict_at)
    else private.link('FAILED', 'UNKNOWN', v_sale.updated_at) end;
  return jsonb_build_object('saleId', v_sale.id) || v_why || jsonb_build_object('facts',
    jsonb_strip_nulls(jsonb_build_object(
      'amountCents', v_sale.amount_cents,
      'currency', v_sale.currency,
      'orderId', v_sale.order_id,
      'rowId', v_row.id,
      'archivedAt', v_site.archived_at,
      'canRestore', case when v_site.archived_at is not null
        then public.has_site_role(v_site.id, 'owner') end,
      'isSealed', v_sale.status = 'CONFIRMED',
      'isOwner', public.has_site_role(v_site.id, 'owner'),
      'syncMethod', v_site.oci_sync_method,
      'transport', v_sent.transport,
      'sentAt', v_sent.dispatched_at,
      'requestId', v_sent.provider_request_id,
      'conversionName', coalesce(v_sent.conversion_name, v_row.conversion_name,
        private.conversion_name(v_site, 'seal')),
      'atGoogleCents', private.standing_json(v_sale.id) -> 'valueCents',
      'clickMinAgeHours', v_site.click_min_age_hours,
      'error', v_row.attempt_error,
      'attemptCount', v_row.attempt_count)) || (v_why -> 'facts'));
end
$$;
grant execute on function public.why_not_counted(text, uuid) to authenticated;

-- link: one link of the chain.
create function private.link(
  p_link text, p_code text, p_at timestamptz, p_facts jsonb default '{}'
) returns jsonb
language sql immutable set search_path = ''
as $$
  select jsonb_build_object('link', p_link, 'code', p_code, 'at', p_at, 'facts', p_facts)
$$;

-- why_blocked: the link for a delivery block, which keeps a sale from ever being sent.
create function private.why_blocked(p_block text, p_clicked_at timestamptz) returns jsonb
language sql immutable set search_path = ''
as $$
  select case p_block
    when 'NO_CONSENT' then private.link('CONSENT', p_block, null)
    when 'CLICK_EXPIRED'
      then private.link('CLICK_AGE', p_block, p_clicked_at + private.click_life())
    else private.link('CLICK', p_block, null) end
$$;

-- why_cancelled: the link for a cancelled sale; its code says what happened at Google.
create function private.why_cancelled(p_site public.sites, p_sale public.sales) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select private.link('CANCELLED', case
      when d.id is null and exists (select from public.offline_conversion_queue q
        where q.sale_id = p_sale.id and q.status = 'PROCESSING') then 'IN_FLIGHT'
      when d.id is null then 'NEVER_SENT'
      when d.kind = 'RETRACT' then 'RETRACTED'
      when r.status = any (private.waiting_states())
        and (p_site.oci_sync_method = 'script' or r.by_hand_reason is not null) then 'BY_HAND'
      when r.status = any (private.open_states()) then 'RETRACTING'
      when r.id is null or r.provider_error_code = 'ADJUSTMENT_EXPIRED'
        then 'TOO_LATE'
      else 'RETRACT_FAILED' end,
    coalesce(case when d.kind = 'RETRACT' then d.dispatched_at end, p_sale.updated_at),
    jsonb_strip_nulls(jsonb_build_object('retractionId', r.id,
      'retractionCode', r.provider_error_code)))
  from (select 1) one
    left join private.standing_dispatches d
      on d.sale_id = p_sale.id and d.provider_key = 'google_ads'
    left join lateral (
      select q.* from public.offline_conversion_queue q
      where q.sale_id = p_sale.id and q.kind = 'RETRACT'
      order by q.created_at desc, q.id desc limit 1) r on true
$$;

-- why_sent: the link for a conversion that Google did not reject.
create function private.why_sent(p_sent public.provider_dispatches) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select case
    when p_sent.verdict = 'CONFIRMED' then private.link('COUNTED', null, p_sent.verdict_at)
    when p_sent.verdict = 'DUPLICATE' then private.link('DUPLICATE', null, p_sent.verdict_at)
    when p_sent.verdict = 'UNKNOWN'
      then private.link('UNKNOWN', p_sent.verdict_reason, p_sent.verdict_at)
    when p_sent.transport = 'data_manager' then private.link('VERDICT', 'NO_VERDICT_YET',
      private.next_verdict_check(p_sent))
    else private.link('NO_VERDICT', p_sent.transport, p_sent.dispatched_at) end
$$;

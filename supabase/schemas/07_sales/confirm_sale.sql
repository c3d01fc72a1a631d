-- Confirming: a sale that came as a draft is sealed, by a person or by a key.

-- confirm_sale_effect: seals a draft and answers with the sale.
--   Takes    p_args as effect.
create function private.confirm_sale_effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_moved jsonb := private.effect(p_args);
begin
  return (
    select private.external_sale_json(s)
      || jsonb_build_object('proof_id', v_moved -> 'proof_id')
    from public.sales s where s.id = (p_args ->> 'id')::uuid);
end
$$;

-- confirm_sale_and_enqueue: a machine confirms a sale that it reported. The sale is sealed, in the
-- ledger and on the queue, in one transaction.
--   Moves    DRAFT -> CONFIRMED; its call is sealed with it.
--   Refuses  409 VISIT_ALREADY_SEALED unless p_confirm says {separateSale: true}.
--   Callers  service role only.
create function public.confirm_sale_and_enqueue(
  p_key_id uuid, p_confirm jsonb, p_request_hash text, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site_id uuid := private.key_site_id(p_key_id, '{sales}');
begin
  return private.answer_once(
    v_site_id, 'sale.confirm', p_key, p_request_hash, 'private.confirm_sale_effect'::regproc,
    jsonb_build_object(
      'effect', 'sale',
      'to', 'CONFIRMED',
      'id', p_confirm -> 'id',
      'separateSale', p_confirm -> 'separateSale',
      'site', v_site_id,
      'actorKind', 'api_key',
      'actorId', p_key_id,
      'requestHash', p_request_hash));
end
$$;
grant execute on function public.confirm_sale_and_enqueue(uuid, jsonb, text, text)
  to opsmantik_app, service_role;

-- confirm_sale: an operator seals a draft, or takes back a cancellation that Google does not know
-- of.
--   Takes    p_confirm {id, expectedVersion?, separateSale?}
--   Callers  operators.
create function public.confirm_sale(
  p_public_id text, p_confirm jsonb, p_request_hash text, p_key text default null
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(
    private.require_open_site(p_public_id, 'operator'), 'sale.confirm', p_key, p_request_hash,
    jsonb_build_object(
      'effect', 'sale',
      'to', 'CONFIRMED',
      'id', p_confirm -> 'id',
      'expectedVersion', p_confirm -> 'expectedVersion',
      'separateSale', p_confirm -> 'separateSale'))
$$;
grant execute on function public.confirm_sale(text, jsonb, text, text) to authenticated;

import type postgres from "postgres";

export interface NewUser {
  email: string;
  password: string;
  name: string;
}

/**
 * A person who can sign in. The embedded gateway has no admin API, so the account is written as Supabase Auth writes it.
 * Gives the id, also of an account that was there before.
 */
export async function createAuthUser(sql: postgres.Sql, { email, password, name }: NewUser): Promise<string> {
  const rows = await sql<{ id: string }[]>`
    with made as (
      insert into auth.users (id, email, encrypted_password, email_confirmed_at, raw_app_meta_data, raw_user_meta_data)
      values (gen_random_uuid(), ${email.toLowerCase()}, extensions.crypt(${password}, extensions.gen_salt('bf', 10)), now(),
              '{"provider":"email","providers":["email"]}', jsonb_build_object('full_name', ${name}::text))
      on conflict do nothing returning id, email),
    identity as (
      insert into auth.identities (id, provider, provider_id, user_id, identity_data)
      select gen_random_uuid(), 'email', id::text, id, jsonb_build_object('sub', id, 'email', email, 'email_verified', true) from made)
    select id from made union all select id from auth.users where email = ${email.toLowerCase()} limit 1`;
  const id = rows[0]?.id;
  if (!id) throw new Error(`The account ${email} could not be made.`);
  return id;
}

/** Runs SQL as a signed-in user, at a given time: how demo and test data call the product's own functions. */
export function actAs<T>(sql: postgres.Sql, userId: string, run: (tx: postgres.TransactionSql) => Promise<T>, at?: Date): Promise<T> {
  return sql.begin(async (tx) => {
    await tx`select set_config('request.jwt.claims', ${JSON.stringify({ sub: userId, role: "authenticated" })}, true),
                    set_config('opsmantik.now', ${at?.toISOString() ?? ""}, true)`;
    await tx`set local role authenticated`;
    return run(tx);
  }) as Promise<T>; // postgres.js unwraps arrays of promises, which nobody here returns
}

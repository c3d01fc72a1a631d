import { randomUUID } from "node:crypto";
import type { Sql } from "postgres";

export interface NewUser {
  email: string;
  password: string;
  name: string;
}

/**
 * Creates a user who can sign in, and returns the id; an existing user of that address keeps its id and gets the
 * password. In SQL, because the gateway does not serve the admin API.
 */
export async function createUser(sql: Sql, { email, password, name }: NewUser): Promise<string> {
  const address = email.toLowerCase();
  const [known] = await sql<{ id: string }[]>`
    update auth.users set encrypted_password = extensions.crypt(${password}, extensions.gen_salt('bf', 10)) where email = ${address}
    returning id`;
  if (known) return known.id;
  const id = randomUUID();
  await sql`
    with created as (
      insert into auth.users (id, email, encrypted_password, email_confirmed_at, raw_app_meta_data, raw_user_meta_data)
      values (
        ${id}, ${address}, extensions.crypt(${password}, extensions.gen_salt('bf', 10)), now(),
        ${sql.json({ provider: "email", providers: ["email"] })}, ${sql.json({ full_name: name })}
      )
      returning id, email
    )
    insert into auth.identities (id, provider, provider_id, user_id, identity_data)
    select gen_random_uuid(), 'email', id::text, id,
           jsonb_build_object('sub', id, 'email', email, 'email_verified', true)
    from created`;
  return id;
}

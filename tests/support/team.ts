import type postgres from "postgres";
import { actAs, createAuthUser } from "#scripts/local/postgres/auth-user.ts";

export const password = "correct-horse-battery";

export interface Person {
  id: string;
  email: string;
}

export interface Team {
  publicId: string;
  siteId: string;
  owner: Person;
  operator: Person;
  viewer: Person;
}

export async function createPerson(sql: postgres.Sql, email: string): Promise<Person> {
  const name = email.split("@")[0] ?? email;
  return { id: await createAuthUser(sql, { email, password, name }), email };
}

/** Calls one of the product's functions as a signed-in person and gives its jsonb answer. */
export async function callAs<T = Record<string, unknown>>(
  sql: postgres.Sql,
  person: Pick<Person, "id">,
  call: (tx: postgres.TransactionSql) => postgres.PendingQuery<postgres.Row[]>,
  at?: Date,
): Promise<T> {
  const [row] = await actAs(sql, person.id, call, at);
  return Object.values(row ?? {})[0];
}

/** Invites and accepts, as the two people would. */
export async function join(sql: postgres.Sql, publicId: string, owner: Person, person: Person, role: string): Promise<void> {
  const { invitationId } = await callAs<{ invitationId: string }>(
    sql,
    owner,
    (tx) => tx`select public.invite_site_member(${publicId}, ${person.email}, ${role})`,
  );
  await callAs(sql, person, (tx) => tx`select public.accept_invitation(${invitationId})`);
}

/** A site with one person in each role, made through the product's own functions. `founder` may add sites because they own one. */
export async function createTeam(
  sql: postgres.Sql,
  name: string,
  founder?: Person,
  syncMethod: "script" | "api" = "script",
): Promise<Team> {
  const owner = founder ?? (await createPerson(sql, `owner@${name}.test`));
  const operator = await createPerson(sql, `operator@${name}.test`);
  const viewer = await createPerson(sql, `viewer@${name}.test`);
  const { publicId } = await callAs<{ publicId: string }>(
    sql,
    owner,
    (tx) => tx`select public.create_site(${name}, ${[`${name}.test`]}, 'TRY', 'Europe/Istanbul', 'tr', ${syncMethod})`,
  );
  await join(sql, publicId, owner, operator, "operator");
  await join(sql, publicId, owner, viewer, "viewer");
  const [site] = await sql`select id from public.sites where public_id = ${publicId}`;
  return { publicId, siteId: String(site?.id), owner, operator, viewer };
}

/** Hands a site over to somebody who owns nothing yet, so that two teams share nobody. */
export async function handOver(sql: postgres.Sql, team: Team, email: string): Promise<Team> {
  const owner = await createPerson(sql, email);
  await join(sql, team.publicId, team.owner, owner, "owner");
  await callAs(sql, owner, (tx) => tx`select public.remove_member(${team.publicId}, ${team.owner.id})`);
  return { ...team, owner };
}

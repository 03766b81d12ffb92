import { property } from "../../../core/property.ts";
import type { Refusal } from "../refusal.ts";
import { DatabaseTimeout, NotPrimary } from "./connection.ts";
import type { DatabaseAddress } from "./database-url.ts";
import { NewerSchema } from "./schema.ts";

/** SQLSTATE classes of an error about a value: data, size, constraint. Others are about the database. */
const ABOUT_A_RECORD = /^(22|23|54)/;

export function isAboutARecord(error: unknown): boolean {
	return ABOUT_A_RECORD.test(stateOf(error) ?? "");
}

/** For clients: no address, no user, no content. */
export function databaseRefusal(error: unknown): Refusal {
	if (error instanceof NewerSchema) {
		return { why: "the database was used by a newer pi-strata; update pi-strata", permanent: true };
	}
	if (error instanceof NotPrimary) return transient(error.message);
	if (error instanceof DatabaseTimeout) return transient("the database does not answer");
	const state = stateOf(error);
	if (state === undefined)
		return transient(isAboutTls(error) ? UNTRUSTED : "the database cannot be reached");
	return transient(
		REASONS.find(([start]) => state.startsWith(start))?.[1] ?? `database error ${state}`,
	);
}

/** Why a server cannot start, or a command cannot do its work. */
export function unusable({ description }: DatabaseAddress, error: unknown): Error {
	return new Error(`cannot use the database ${description}: ${reasonOf(error)}`, { cause: error });
}

/** For the operator: what the database or the system calls it, too. */
export function reasonOf(error: unknown): string {
	const { why } = databaseRefusal(error);
	const [code, path] = [property(error, "code"), property(error, "path")];
	if (typeof code !== "string" || why.includes(code)) return why;
	// A certificate that the address names.
	if (property(error, "syscall") === "open") return `the file ${path} cannot be read (${code})`;
	return `${why} (${code})`;
}

/** Whether the error is about the database, not about what it was asked for. */
export function isAboutDatabase(error: unknown): boolean {
	const isOurs = error instanceof DatabaseTimeout || error instanceof NotPrimary;
	return isOurs || isAboutTls(error) || typeof property(error, "code") === "string";
}

/** SQLSTATE, or `undefined` if the error did not come from the database. */
function stateOf(error: unknown): string | undefined {
	const code = property(error, "code");
	const isState = typeof code === "string" && /^[0-9A-Z]{5}$/.test(code);
	return isState && property(error, "severity") !== undefined ? code : undefined;
}

const UNTRUSTED = "the database does not show a certificate that this server trusts";

function isAboutTls(error: unknown): boolean {
	const code = property(error, "code");
	if (typeof code === "string") return ABOUT_TLS.test(code);
	return error instanceof Error && error.message.includes("does not support SSL");
}

const ABOUT_TLS = /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY)_)/;

const REASONS: readonly (readonly [string, string])[] = [
	["25006", "the database is read-only"],
	["28", "the database refuses this server's user"],
	["3D", "the database does not exist"],
	["42501", "this server's user lacks rights in the database"],
	["42", "the tables of the database are not those of pi-strata"],
	["53100", "the disk of the database is full"],
	["53200", "the database is out of memory"],
	["53300", "the database has too many connections"],
	["55P03", "rows of the database are locked"],
	["57P", "the database is stopping or starting"],
	["08", "the connection to the database failed"],
];

function transient(why: string): Refusal {
	return { why, permanent: false };
}

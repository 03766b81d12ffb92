/** Where the database is. The password is in here, so only `description` may be logged. */
export interface DatabaseAddress {
	readonly url: string;
	/** If it is not in the URL. */
	readonly password?: string;
	/** Without user, password and options: for people. */
	readonly description: string;
}

/**
 * The address from a flag or from the environment. A flag shows in `ps`, so it must not have a password. What has
 * one is removed from the environment, which tools of agents inherit.
 */
export function databaseFrom(
	flag: string | undefined,
	env: NodeJS.ProcessEnv,
): DatabaseAddress | undefined {
	const { STRATA_DATABASE: named, PGPASSWORD: password } = env;
	const text = flag ?? (named || undefined);
	delete env.STRATA_DATABASE;
	if (text === undefined) return undefined;
	if (flag !== undefined && hasPassword(flag)) {
		throw new Error(
			"--database must not have a password, since every user can see it in ps: set STRATA_DATABASE or PGPASSWORD, or use ~/.pgpass",
		);
	}
	const address = parseDatabaseUrl(text);
	if (password === undefined || hasPassword(text)) return address;
	delete env.PGPASSWORD;
	return { ...address, password };
}

const EXAMPLE = "postgres://user@host/database";

/** Throws an error that does not repeat the address, which may have a password. */
export function parseDatabaseUrl(text: string): DatabaseAddress {
	const url = parsed(text);
	if (!url) throw new Error(`the database's address must look like ${EXAMPLE}`);
	const host = url.searchParams.get("host") ?? decodeURIComponent(url.hostname);
	const name = decodeURIComponent(url.pathname.slice(1));
	const port = url.port === "" ? "" : `:${url.port}`;
	return { url: text, description: `${host || "localhost"}${port}/${name}` };
}

export function hasPassword(text: string): boolean {
	const url = parsed(text);
	if (!url) return text.includes("@") || text.includes("password");
	return url.password !== "" || url.searchParams.has("password");
}

/** Postgres allows an empty host, as before a socket's folder in the options; `URL` does not. */
function parsed(text: string): URL | undefined {
	if (!/^postgres(ql)?:\/\//.test(text)) return undefined;
	const complete = text.replace(/^(\w+:\/\/(?:[^/@?]*@)?)(?=[/?]|$)/, "$1localhost");
	return URL.canParse(complete) ? new URL(complete) : undefined;
}

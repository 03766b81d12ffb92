import { agentFolder } from "../core/places.ts";
import { runningServer, type ServerAddress } from "../core/server-address.ts";
import { markedSessions, runningDemos } from "../core/session-marks.ts";
import { loadTokens } from "../core/token-file.ts";
import { counted } from "../text/figures.ts";
import { plainText } from "../text/one-line.ts";
import { type Command, FLAG, type OptionValues, TEXT, type Terminal } from "./command.ts";
import { portIn } from "./option-values.ts";
import { openBrowser, serve, serverFolder } from "./serve.ts";

export const watch: Command = {
	name: "watch",
	usage: "[--open] [--port 3141] [--json]",
	details: [
		"",
		"Shows sessions of pi that run in terminals, in the browser, word by word and read-only. It prints the address of the",
		"server that runs, or starts one. On the page, open a stored session that is marked as open in pi: the page follows it.",
		"Nothing is written to its file. To go on with it in the browser while pi runs, work on a copy. pi needs the",
		"extension, which marks the files it has open. A running strata demo is shown too. --open opens the browser.",
	],
	options: { open: FLAG, port: TEXT, json: FLAG },
	async run(options, _words, terminal) {
		if (options.port !== undefined) portIn(options.port);
		const sessions = await openSessions(agentFolder(terminal.env));
		const dataDir = serverFolder(terminal.env);
		const running = await runningServer(dataDir);
		if (!options.json) for (const line of listed(sessions)) terminal.print(line);
		if (running?.url === undefined) return await serve.run(options, [], terminal);
		return await showRunning(
			{ ...running, url: running.url },
			{ options, terminal, dataDir, sessions },
		);
	},
};

interface OpenSession {
	readonly file: string;
	readonly process: number;
	readonly isDemo?: true;
}

async function openSessions(agentDir: string): Promise<OpenSession[]> {
	const own = await markedSessions(agentDir);
	const sessions = Array.from(own, ([file, process]): OpenSession => ({ file, process }));
	for (const demo of await runningDemos(agentDir)) {
		const marked = await markedSessions(demo);
		for (const [file, process] of marked) sessions.push({ file, process, isDemo: true });
	}
	return sessions;
}

function listed(sessions: readonly OpenSession[]): string[] {
	if (sessions.length === 0) return ["No pi with pi-strata runs in a terminal yet."];
	const rows = sessions.map(
		({ file, process, isDemo }) =>
			`  process ${process}${isDemo ? " (demo)" : ""}  ${plainText(file, 300)}`,
	);
	return [`${counted(sessions.length, "session")} open in pi:`, ...rows];
}

async function showRunning(
	{ url, tokenFile, pid }: ServerAddress & { readonly url: string },
	about: {
		readonly options: OptionValues;
		readonly terminal: Terminal;
		readonly dataDir: string;
		readonly sessions: readonly OpenSession[];
	},
): Promise<number> {
	const { options, terminal, dataDir, sessions } = about;
	if (options.json) {
		terminal.print(JSON.stringify({ url, tokenFile, pid, sessions }));
		return 0;
	}
	const page =
		tokenFile === undefined ? url : `${url}#token=${(await loadTokens(tokenFile)).first.token}`;
	// As in `strata serve`: a token is for a terminal only, since other output may be stored.
	terminal.print(`The server runs at ${terminal.confirm ? page : url}`);
	if (!terminal.confirm && tokenFile !== undefined) terminal.print(`token file: ${tokenFile}`);
	if (options.open) await openBrowser(page, dataDir, terminal);
	return 0;
}

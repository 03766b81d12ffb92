import { agentFolder } from "../core/places.ts";
import { runningServer, type ServerAddress } from "../core/server-address.ts";
import { markedSessions } from "../core/session-marks.ts";
import { loadTokens } from "../core/token-file.ts";
import { counted } from "../text/figures.ts";
import { plainText } from "../text/one-line.ts";
import { type Command, FLAG, type OptionValues, TEXT, type Terminal } from "./command.ts";
import { openBrowser, serve, serverFolder } from "./serve.ts";

export const watch: Command = {
	name: "watch",
	usage: "[--open] [--port 3141] [--json]",
	details: [
		"",
		"Shows sessions of pi that run in terminals, in the browser, word by word and read-only. It prints the address of the",
		"server that runs, or starts one. On the page, open a stored session that is marked as open in pi: the page follows it.",
		"Nothing is written to its file. To go on with it in the browser while pi runs, work on a copy. pi needs the",
		"extension, which marks the files it has open. --open opens the browser.",
	],
	options: { open: FLAG, port: TEXT, json: FLAG },
	async run(options, _words, terminal) {
		const sessions = await markedSessions(agentFolder(terminal.env));
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

function listed(sessions: ReadonlyMap<string, number>): string[] {
	if (sessions.size === 0) return ["No pi with pi-strata runs in a terminal yet."];
	const rows = [...sessions].map(([file, pid]) => `  process ${pid}  ${plainText(file, 300)}`);
	return [`${counted(sessions.size, "session")} open in pi:`, ...rows];
}

async function showRunning(
	{ url, tokenFile, pid }: ServerAddress & { readonly url: string },
	about: {
		readonly options: OptionValues;
		readonly terminal: Terminal;
		readonly dataDir: string;
		readonly sessions: ReadonlyMap<string, number>;
	},
): Promise<number> {
	const { options, terminal, dataDir, sessions } = about;
	if (options.json) {
		const open = Array.from(sessions, ([file, process]) => ({ file, process }));
		terminal.print(JSON.stringify({ url, tokenFile, pid, sessions: open }));
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

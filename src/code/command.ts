import { blobFolder } from "../core/blob-store.ts";
import type { SessionView, Spine } from "../session/index.ts";
import { megabytes } from "../text/figures.ts";
import { type CodeSession, callerOf } from "./code-session.ts";

export interface Subcommand {
	readonly usage: string;
	/** `words` are the arguments. The result is shown to the user. */
	run(session: SessionView, words: string[]): Promise<string>;
}

const STDERR_LINES = 10;

/** Registers `/kota status | index | restart | help` and the subcommands in `more`. Default: `status`. */
export function registerKotaCommand(
	spine: Spine,
	codeSession: CodeSession,
	more: ReadonlyMap<string, Subcommand> = new Map(),
): void {
	const { host } = spine;
	const commands = new Map<string, Subcommand>([
		["status", { usage: "the engine, the index and the settings", run: status }],
		["index", { usage: "index the project, or refresh its index", run: index }],
		["restart", { usage: "close the engine and open it again", run: restart }],
		...more,
		["help", { usage: "this list", run: async () => help() }],
	]);

	host.registerCommand("kota", {
		description: `Code intelligence and pruning: /kota ${[...commands.keys()].join(" | ")}`,
		getArgumentCompletions(prefix) {
			const names = [...commands.keys()].filter((name) => name.startsWith(prefix.trim()));
			return names.length > 0 ? names.map((name) => ({ value: name, label: name })) : null;
		},
		async handler(args, ctx) {
			const [name = "status", ...words] = args.split(/\s+/).filter((word) => word !== "");
			const command = commands.get(name.toLowerCase());
			if (!command)
				return host.report(ctx, `/kota has no command "${name.slice(0, 60)}"\n${help()}`);
			host.report(ctx, await command.run(spine.at(ctx), words).catch(messageOf));
		},
	});

	function help(): string {
		const width = Math.max(...[...commands.keys()].map(({ length }) => length));
		const lines = [...commands].map(([name, { usage }]) => `/kota ${name.padEnd(width)}  ${usage}`);
		return lines.join("\n");
	}

	async function status(session: SessionView): Promise<string> {
		const { code, project, blobs, settings } = await codeSession.open(session);
		// If the engine fails to start, the other lines help to find the cause.
		const index = await project.status().then(
			(status) => code.statusText(status, Date.now()),
			async (error: unknown) => [`project: ${project.root}`, await messageOf(error)],
		);
		const stderr = project.stderr().slice(-STDERR_LINES);
		const { objects, bytes, fault } = await blobs.stats();
		const { config, files } = session.loaded;
		const kept = fault?.message ?? `${objects}, ${megabytes(bytes)} in ${blobFolder(config.blobs)}`;
		const sources = files.filter(({ used }) => used).map(({ label }) => label);
		return [
			`kota: ${project.state} (${settings.engine} engine)`,
			...index,
			`whole answers kept: ${kept}`,
			`settings: autoContext ${settings.autoContext}, confirmIndex ${settings.confirmIndex}, maxAnswerBytes ${settings.maxAnswerBytes}; from ${sources.join(", ") || "defaults"}`,
			...(stderr.length > 0 ? ["it wrote:", ...stderr.map((line) => `  ${line}`)] : []),
		].join("\n");
	}

	/** If there are dialogs, the user confirms the first indexing. Otherwise the command is the consent. */
	async function index(session: SessionView): Promise<string> {
		const { code, project } = await codeSession.open(session);
		const consent = session.hasUI ? "needed" : "given";
		return code.buildText(await project.build(callerOf(session, code, session.signal), consent));
	}

	async function restart(session: SessionView): Promise<string> {
		const { project } = await codeSession.open(session);
		await project.close();
		await project.status();
		return `kota: ${project.state}`;
	}
}

async function messageOf(error: unknown): Promise<string> {
	const { toolError } = await import("./run-tool.ts");
	return toolError(error).message;
}

import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deleteCodeIndex } from "../codeindex/index.ts";
import { DEMO_MODEL, DEMO_OF } from "../core/demo-model.ts";
import { errnoOf } from "../core/errno.ts";
import { packageFolder } from "../core/package-info.ts";
import { agentFolder } from "../core/places.ts";
import { markDemo } from "../core/session-marks.ts";
import { type Command, FLAG } from "./command.ts";
import { explainPi, installedPi, piProgram, serveFault } from "./installed-pi.ts";
import { statusOfChild } from "./run.ts";

export const demo: Command = {
	name: "demo",
	usage: "[--keep] [--] [arguments of pi…]",
	details: [
		"",
		"Starts pi in this terminal with pi-strata and a scripted model, a script and not an AI, on a small sample project.",
		"It needs no key and reaches no network. Your own settings, sessions and keys of pi are not used. Everything is in a",
		"temporary folder, which is deleted when pi ends, or kept with --keep. Say anything; docs/tour.md says what to look",
		"at. While it runs, strata watch in another terminal shows it in the browser. The prices of the model are made up.",
		"Arguments behind -- go to pi: strata demo -- -p hello /strata",
	],
	options: { keep: FLAG },
	maxArguments: Number.POSITIVE_INFINITY,
	runsProgram: true,
	async run(options, words, terminal) {
		const pi = installedPi();
		const fault = serveFault(pi);
		if (fault !== undefined) throw new Error(fault);
		const { makeSampleProject, startDemoProvider } = await import("../server/index.ts").catch(
			(error: unknown) => {
				throw explainPi(error);
			},
		);
		const folder = await realpath(await mkdtemp(join(tmpdir(), "strata-demo-")));
		const project = await makeSampleProject(folder);
		// Words appear at the pace of a model where a person reads them.
		const provider = await startDemoProvider(terminal.confirm ? {} : { wordsPerSecond: 100_000 });
		const agentDir = join(folder, "agent");
		const own = agentFolder(terminal.env);
		const mark = markDemo(own, agentDir);
		try {
			await writeAgentFolder(agentDir, provider.config);
			const { program, args } = piProgram();
			const extension = join(packageFolder(), "pi-extension.ts");
			const { provider: name, id } = DEMO_MODEL;
			const chosen = ["-e", extension, "--provider", name, "--model", id];
			const env = {
				...withoutKeys(terminal.env),
				PI_CODING_AGENT_DIR: agentDir,
				[DEMO_OF]: own,
				PI_OFFLINE: "1",
			};
			return await statusOfChild(program, { args: [...args, ...chosen, ...words], env }, project);
		} catch (error) {
			const why = errnoOf(error) ?? "unknown error";
			throw new Error(`cannot start pi: ${why}`, { cause: error });
		} finally {
			await mark.remove();
			await provider.close();
			await deleteCodeIndex(project);
			if (options.keep) terminal.printError(`kept: ${folder}`);
			else await rm(folder, { recursive: true, force: true, maxRetries: 3 });
		}
	},
};

/** The demo must not see the user's keys. */
function withoutKeys(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
	return Object.fromEntries(Object.entries(env).filter(([name]) => !/(?:KEY|TOKEN)$/.test(name)));
}

/** The sample is ours, so indexing it needs no consent; texts of stubs are deleted with the folder. */
async function writeAgentFolder(agentDir: string, config: object): Promise<void> {
	await mkdir(agentDir, { recursive: true, mode: 0o700 });
	const models = { providers: { [DEMO_MODEL.provider]: config } };
	await writeFile(join(agentDir, "models.json"), JSON.stringify(models), { mode: 0o600 });
	const settings = { kota: { confirmIndex: false }, blobs: { dir: join(agentDir, "blobs") } };
	await writeFile(join(agentDir, "strata.json"), JSON.stringify(settings));
}

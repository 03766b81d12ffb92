import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { loadConfig } from "../core/config.ts";
import { agentFolder } from "../core/places.ts";
import { nearest } from "../text/nearest.ts";
import { type Command, UsageError } from "./command.ts";
import { serverFolder } from "./serve.ts";
import { knownStores, type MeasuredStore, measureStore } from "./stores.ts";

export const clean: Command = {
	name: "clean",
	usage: "[--delete <store>… | --all] [--yes] [--json]",
	details: [
		"",
		"Without options it only lists. --delete names stores, --all takes every one; both ask first",
		"unless --yes is given. A folder that does not carry pi-strata's version file is never deleted.",
		"What cannot be made again is not a store: the data of strata serve (tokens, journal, demo projects),",
		"in strata/server of pi's folder or where --data-dir says. Stop the server before you delete that.",
	],
	options: {
		delete: { type: "string", multiple: true },
		all: { type: "boolean" },
		yes: { type: "boolean" },
		json: { type: "boolean" },
	},
	async run(options, _words, terminal) {
		const { config } = loadConfig({ agentDir: agentFolder(terminal.env), cwd: terminal.cwd });
		const stores = await Promise.all(knownStores(config, terminal.cwd).map(measureStore));
		const chosen = choose(stores, options.delete as string[] | undefined, options.all === true);
		const deleted: string[] = [];
		for (const store of chosen) {
			if (store.state === "absent") continue;
			if (store.state === "foreign") {
				throw new Error(
					`${store.folder} was not made by pi-strata; left alone (delete it yourself if you are sure)`,
				);
			}
			if (options.yes !== true) {
				if (!terminal.confirm)
					throw new UsageError("there is no terminal to ask on: add --yes to delete");
				const question = `Delete ${store.folder} (${store.note})? Then ${store.loss}.`;
				if (!(await terminal.confirm(question))) continue;
			}
			await rm(store.folder, { recursive: true, force: true });
			deleted.push(store.folder);
		}
		const notListed = [serverFolder(terminal.env)].filter((folder) => existsSync(folder));
		if (options.json) {
			const folders = notListed.map((folder) => ({ name: "server", folder }));
			terminal.print(JSON.stringify({ stores, deleted, notListed: folders }, null, 2));
			return 0;
		}
		for (const store of stores) {
			const fate = deleted.includes(store.folder) ? "deleted" : store.note;
			terminal.print(`${store.name.padEnd(10)} ${fate}  ${store.folder}`);
		}
		for (const folder of notListed) {
			const what = "the server's tokens, journal and demo projects";
			terminal.print(`not listed: ${what} in ${folder}; stop the server before you delete them`);
		}
		if (chosen.length === 0)
			terminal.print('Nothing deleted. "strata clean --delete <store>" or "--all" deletes.');
		return 0;
	},
};

function choose(
	stores: MeasuredStore[],
	names: string[] | undefined,
	all: boolean,
): MeasuredStore[] {
	if (all) return stores;
	return (names ?? []).flatMap((name) => {
		const named = stores.filter((candidate) => candidate.name === name);
		if (named.length > 0) return named;
		const close = nearest(
			name,
			stores.map((candidate) => candidate.name),
		);
		const known = close
			? `did you mean "${close}"?`
			: `known: ${stores.map((s) => s.name).join(", ")}`;
		throw new UsageError(`unknown store "${name}"; ${known}`);
	});
}

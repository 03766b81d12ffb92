import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { describeError } from "../core/errno.ts";
import { packageFolder } from "../core/package-info.ts";
import { expandHome } from "../core/places.ts";
import { property } from "../core/property.ts";
import { runningServer } from "../core/server-address.ts";
import { counted } from "../text/figures.ts";
import { plainText } from "../text/one-line.ts";
import { installedPi, serveFault } from "./installed-pi.ts";

interface Finding {
	readonly name: string;
	readonly ok: boolean;
	readonly required: false;
	readonly note: string;
}

/** Whether pi loads the extension, which models it finds, and where a server runs. */
export async function checkUse(place: {
	readonly agentDir: string;
	readonly cwd: string;
	readonly serverFolder: string;
}): Promise<Finding[]> {
	return [
		checkExtension(place.agentDir, place.cwd),
		await checkModels(place.agentDir),
		await checkServer(place.serverFolder),
	].map((finding) => ({ ...finding, required: false as const }));
}

const OWN_NAME = "pi-strata";

/** By pi's settings files and folders of extensions: starting pi would take a second, and might ask a question. */
function checkExtension(agentDir: string, cwd: string) {
	const name = "pi's extension";
	const found = [agentDir, join(cwd, ".pi")].flatMap((folder) => extensionsIn(folder));
	const [first] = found;
	if (first !== undefined) return { name, ok: true, note: `pi loads ${plainText(first, 300)}` };
	const note = `pi does not load it: run "pi install ${packageFolder()}", or try it with "strata demo"`;
	return { name, ok: false, note };
}

function extensionsIn(folder: string): string[] {
	const settings = jsonIn(join(folder, "settings.json"));
	const listed = ["packages", "extensions"].flatMap((key) => {
		const values = property(settings, key);
		return Array.isArray(values) ? values.map((one) => property(one, "source") ?? one) : [];
	});
	const own = realOf(packageFolder());
	const installed = listed
		.filter((source) => typeof source === "string")
		.filter((source) => isOurs(source, folder, own));
	return [...installed, ...foldersIn(join(folder, "extensions")).filter((path) => isAt(path, own))];
}

function isOurs(source: string, folder: string, own: string): boolean {
	if (/^(?:npm:|git:|https?:|git@)/.test(source)) {
		return new RegExp(`(?:^npm:|/)${OWN_NAME}(?:@[^/]*|\\.git)?$`).test(source);
	}
	return isAt(resolve(folder, expandHome(source)), own);
}

/** Whether a path is this package, a file in its folder, or another copy of it. */
function isAt(path: string, own: string): boolean {
	const real = realOf(path);
	if (real === own || real === join(own, "pi-extension.ts")) return true;
	return property(jsonIn(join(real, "package.json")), "name") === OWN_NAME;
}

function foldersIn(folder: string): string[] {
	try {
		return readdirSync(folder).map((name) => join(folder, name));
	} catch {
		return [];
	}
}

/** Counts the models that pi could use now, by provider. Keys are not read out. */
async function checkModels(agentDir: string) {
	const name = "models";
	if (serveFault(installedPi()) !== undefined) {
		return {
			name,
			ok: false,
			note: 'not known: no usable pi beside pi-strata; see "pi --list-models"',
		};
	}
	try {
		const { ModelRuntime } = await import("@earendil-works/pi-coding-agent");
		const runtime = await ModelRuntime.create({
			authPath: join(agentDir, "auth.json"),
			modelsPath: join(agentDir, "models.json"),
			refreshOnCreate: false,
		});
		const available = await runtime.getAvailable();
		const providers = [...Map.groupBy(available, ({ provider }) => provider)].map(
			([provider, some]) => `${plainText(provider, 40)} (${some.length})`,
		);
		if (available.length === 0) {
			return { name, ok: false, note: 'none: pi has no key; "strata demo" needs none' };
		}
		return {
			name,
			ok: true,
			note: `${counted(available.length, "model")}: ${providers.join(", ")}`,
		};
	} catch (error) {
		return { name, ok: false, note: plainText(describeError(error), 300) };
	}
}

async function checkServer(folder: string) {
	const server = await runningServer(folder);
	const note = server
		? `runs at ${server.url ?? server.socket ?? "standard input"} (process ${server.pid})`
		: 'none runs; start one with "strata serve"';
	return { name: "server", ok: true, note };
}

function jsonIn(file: string): unknown {
	try {
		return JSON.parse(readFileSync(file, "utf8"));
	} catch {
		return undefined;
	}
}

function realOf(path: string): string {
	try {
		return realpathSync(path);
	} catch {
		return path;
	}
}

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, parseAllDocuments } from "yaml";

/** The files that show how to run a cluster. */
export const FOLDER = fileURLToPath(new URL("../../../examples/cluster/", import.meta.url));

export const fileOf = (name: string) => readFileSync(join(FOLDER, name), "utf8");

/** A server as its file starts it. */
export interface PlannedServer {
	/** The name under which the others reach it. */
	readonly host: string;
	/** The command, without the program. */
	readonly words: readonly string[];
	readonly env: Readonly<Record<string, string>>;
	readonly cwd: string;
}

interface Container {
	readonly args: string[];
	readonly env: {
		name: string;
		value?: string;
		valueFrom?: {
			fieldRef?: { fieldPath: string };
			secretKeyRef?: { name: string; key: string };
		};
	}[];
}

/** What the image adds to each server. */
export function imageOf(dockerfile: string) {
	const lines = dockerfile.replaceAll("\\\n", " ").split("\n");
	const after = (word: string) =>
		lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
	const env = Object.fromEntries(after("ENV").map((line) => line.split("=", 2)));
	const entrypoint: string[] = JSON.parse(after("ENTRYPOINT")[0] ?? "[]");
	return { env, entrypoint, cwd: after("WORKDIR")[0] ?? "/", runs: after("RUN") };
}

export const compose = () => parse(fileOf("compose.yaml"), { merge: true });

export function composeServers(): PlannedServer[] {
	const { services } = compose();
	const { env, cwd } = imageOf(fileOf("Dockerfile"));
	return Object.entries<{ command: string[]; environment: Record<string, string> }>(services)
		.filter(([name]) => name !== "database")
		.map(([host, { command, environment }]) => {
			return { host, words: command, env: { ...env, ...environment }, cwd };
		});
}

export const kubernetes = () =>
	parseAllDocuments(fileOf("kubernetes.yaml")).map((document) => {
		if (document.errors[0]) throw document.errors[0];
		return document.toJS();
	});

export function kubernetesServers(namespace = "default"): PlannedServer[] {
	const { spec } = kubernetes().find(
		({ kind, metadata }) => kind === "StatefulSet" && metadata.name === "strata",
	);
	const image = imageOf(fileOf("Dockerfile"));
	const container: Container = spec.template.spec.containers[0];
	return Array.from({ length: spec.replicas }, (_, index) => {
		const pod = `strata-${index}`;
		const fields: Record<string, string> = {
			"metadata.name": pod,
			"metadata.namespace": namespace,
		};
		const env: Record<string, string> = { ...image.env };
		for (const { name, value, valueFrom } of container.env) {
			const field = valueFrom?.fieldRef?.fieldPath;
			const secret = valueFrom?.secretKeyRef;
			const given = value ?? (field !== undefined ? fields[field] : secret && "a secret");
			if (given === undefined) throw new Error(`${name} has no value`);
			env[name] = given;
		}
		const words = container.args.map((word) =>
			word.replaceAll(/\$\((\w+)\)/g, (_all, name: string) => {
				const value = env[name];
				if (value === undefined) throw new Error(`${word}: $(${name}) is not set`);
				return value;
			}),
		);
		return { host: `${pod}.${spec.serviceName}.${namespace}.svc`, words, env, cwd: image.cwd };
	});
}

/** Sections of a unit: their directives in order. */
export type Unit = ReadonlyMap<string, readonly (readonly [name: string, value: string])[]>;

export function parseUnit(text: string): Unit {
	const unit = new Map<string, [string, string][]>();
	let section: [string, string][] | undefined;
	for (const line of text.split("\n")) {
		if (line === "" || line.startsWith("#")) continue;
		const [, name] = /^\[(\w+)\]$/.exec(line) ?? [];
		if (name !== undefined) {
			section = [];
			unit.set(name, section);
			continue;
		}
		const [, directive, value] = /^([A-Z]\w+)=(.*)$/.exec(line) ?? [];
		if (!section || directive === undefined) throw new Error(`not a line of a unit: ${line}`);
		section.push([directive, value ?? ""]);
	}
	return unit;
}

export const TEMPLATE = "strata@.service";
export const DROP_IN = "strata@.service.d/several-machines.conf";

/** The instances of the template, one for each machine if there is a drop-in. */
export function systemdServers(
	instances: readonly { port: string; machine: string }[],
	dropIn?: string,
): PlannedServer[] {
	const service = [
		...(parseUnit(fileOf(TEMPLATE)).get("Service") ?? []),
		...(dropIn === undefined ? [] : (parseUnit(fileOf(dropIn)).get("Service") ?? [])),
	];
	return instances.map(({ port, machine }) => {
		const specifiers: Record<string, string> = {
			i: port,
			H: machine,
			S: "/var/lib",
			d: "/run/credentials/strata",
		};
		const expanded = (text: string) =>
			text.replaceAll(/%(.)/g, (_all, letter: string) => {
				const value = specifiers[letter];
				if (value === undefined) throw new Error(`${text}: %${letter} is not known`);
				return value;
			});
		const all = (name: string) =>
			service.filter(([directive]) => directive === name).map(([, value]) => expanded(value));
		// An empty value takes back the ones before it.
		const commands = all("ExecStart");
		const command = commands.slice(commands.lastIndexOf("") + 1);
		if (command.length !== 1) throw new Error("a service has one command");
		const [program, ...words] = (command[0] ?? "").split(" ");
		if (program !== "/usr/bin/strata") throw new Error(`${program} is not strata`);
		const env = Object.fromEntries(all("Environment").map((line) => line.split("=", 2)));
		return { host: machine, words, env, cwd: all("WorkingDirectory")[0] ?? "/" };
	});
}

/** Commands of the README, a line each, under the heading. */
export function readmeCommands(heading: string): string[] {
	const [, section = ""] = fileOf("README.md").split(`## ${heading}\n`);
	const [, ...blocks] = section.split("\n## ", 1)[0]?.split("```") ?? [];
	return blocks
		.filter((_, index) => index % 2 === 0)
		.flatMap((block) => block.split("\n").slice(1))
		.filter((line) => line !== "");
}

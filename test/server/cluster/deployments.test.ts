// @module-tag slow
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
	copyFileSync,
	cpSync,
	existsSync,
	mkdirSync,
	readFileSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { packageVersion } from "../../../src/core/package-info.ts";
import { parseDatabaseUrl } from "../../../src/server/journal/postgres/database-url.ts";
import { DEFAULT_LIMITS } from "../../../src/server/limits.ts";
import { PATIENCE, PATIENCE_MS } from "../../support/patience.ts";
import { postgresPrograms, sharedPostgres, withPostgres } from "../../support/postgres.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import { type ServeProcess, startServe } from "../support/serve-process.ts";
import {
	compose,
	composeServers,
	DROP_IN,
	FOLDER,
	fileOf,
	imageOf,
	kubernetes,
	kubernetesServers,
	type PlannedServer,
	parseUnit,
	readmeCommands,
	systemdServers,
	TEMPLATE,
} from "./deployment.ts";

const DRAIN_SECONDS = DEFAULT_LIMITS.drainMs / 1_000;
const root = join(FOLDER, "..", "..");
/** All of 127.0.0.0/8 is this machine only on Linux: each server has its documented port there, on an address of its own. */
const canRun = postgresPrograms !== undefined && process.platform === "linux";

describe("the compose file", () => {
	const { services, volumes, secrets } = compose();
	const servers: string[] = Object.keys(services).filter((name) => name !== "database");

	test("has three servers and one Postgres, and nothing that compose does not know", () => {
		expect(servers).toEqual(["one", "two", "three"]);
		const file = compose();
		expect(Object.keys(file).sort()).toEqual(
			["name", "secrets", "services", "volumes", "x-server"].sort(),
		);
		const known = [
			..."image build restart command environment env_file healthcheck volumes".split(" "),
			..."ports secrets stop_grace_period depends_on".split(" "),
		];
		for (const [name, service] of Object.entries<Record<string, unknown>>(services)) {
			for (const key of Object.keys(service)) expect(known, name).toContain(key);
		}
		expect(services.database.image).toMatch(/^postgres:\d+$/);
	});

	test("names volumes, secrets and services that it declares, and one port for each server", () => {
		const used = Object.values<{ volumes: string[] }>(services).flatMap((service) =>
			service.volumes.map((line) => line.split(":")[0]),
		);
		expect(new Set(used)).toEqual(new Set(Object.keys(volumes)));
		for (const name of servers) {
			const { depends_on, secrets: given, env_file, stop_grace_period } = services[name];
			expect(depends_on).toEqual({ database: { condition: "service_healthy" } });
			expect(given).toEqual(Object.keys(secrets));
			expect(env_file).toBe("secrets/database.env");
			expect(Number(/^(\d+)s$/.exec(stop_grace_period)?.[1])).toBeGreaterThan(DRAIN_SECONDS);
		}
		const ports = servers.flatMap((name) => services[name].ports);
		expect(ports).toEqual(["3141:3141", "3142:3141", "3143:3141"]);
		expect(services.database.ports).toBeUndefined();
	});

	test("has no password, and its database is the one that it starts", () => {
		expect(fileOf("compose.yaml")).not.toMatch(/PASSWORD\s*[:=]\s*\S/);
		for (const { env } of composeServers()) {
			const { url, description } = parseDatabaseUrl(String(env.STRATA_DATABASE));
			const { POSTGRES_DB, POSTGRES_USER } = services.database.environment;
			expect(description).toBe(`database/${POSTGRES_DB}`);
			expect(new URL(url)).toMatchObject({ username: POSTGRES_USER, password: "" });
		}
	});

	test("runs an image with this version, whose folders belong to the user of the servers", () => {
		const image = imageOf(fileOf("Dockerfile"));
		expect(image.entrypoint).toEqual(["tini", "--", "strata"]);
		const { peerDependencies, devDependencies } = JSON.parse(
			readFileSync(join(root, "package.json"), "utf8"),
		);
		const packages = Object.keys(peerDependencies).map(
			(name) => `${name}@${devDependencies[name]}`,
		);
		const installed = image.runs.find((line) => line.startsWith("npm install"))?.split(" ");
		expect(installed?.slice(3)).toEqual([`pi-strata@${packageVersion()}`, ...packages]);
		expect(services.one.image).toBe(`pi-strata:${packageVersion()}`);
		expect(fileOf("Dockerfile")).toMatch(/^USER node$/m);
	});

	test.runIf(canRun)(withPostgres("starts servers that take a client each"), async () => {
		const folder = tempDir("compose");
		copyFileSync(join(FOLDER, "certificates.sh"), join(folder, "certificates.sh"));
		const planned = composeServers();
		const hosts = hostsOf(planned);
		const [certificates = "", ...rest] = readmeCommands("Compose");
		const password = rest.slice(0, 2);
		shell([inHosts(certificates, hosts), ...password], folder);
		const env = join(folder, "secrets", "database.env");
		expect(statSync(env).mode & 0o777).toBe(0o600);
		const variables = Object.fromEntries(
			readFileSync(env, "utf8")
				.trim()
				.split("\n")
				.map((line) => line.split("=", 2)),
		);
		expect(variables.PGPASSWORD).toMatch(/^[0-9a-f]{48}$/);
		expect(variables.POSTGRES_PASSWORD).toBe(variables.PGPASSWORD);
		const running = await run(planned, {
			hosts,
			folder,
			env: { PGPASSWORD: variables.PGPASSWORD },
			paths: (name) => [
				["/run/secrets", join(folder, "secrets")],
				["/data", join(folder, name)],
				["/work", join(folder, "work")],
			],
		});
		await expectCluster(running, join(folder, "secrets", "authority.pem"));
		for (const { server } of running) {
			const line = readFileSync(`/proc/${server.child.pid}/cmdline`, "utf8");
			expect(line).not.toContain(variables.PGPASSWORD);
		}
		// The check of the container's health, as compose runs it.
		const { test: check } = services.one.healthcheck;
		expect(check.slice(0, 3)).toEqual(["CMD", "node", "-e"]);
		for (const { host } of running) {
			const script = check[3].replace("localhost", host);
			const extra = { NODE_EXTRA_CA_CERTS: join(folder, "secrets", "authority.pem") };
			const done = spawnSync(process.execPath, ["-e", script], {
				env: { ...process.env, ...extra },
				timeout: PATIENCE_MS,
			});
			expect(done.status).toBe(0);
		}
	});
});

describe("the systemd units", () => {
	/** From systemd's manual. */
	const DIRECTIVES: Readonly<Record<string, readonly string[]>> = {
		Unit: ["Description", "Documentation", "Wants", "After"],
		Service: [
			..."Type User StateDirectory StateDirectoryMode WorkingDirectory Environment EnvironmentFile".split(
				" ",
			),
			..."LoadCredential ExecStart KillMode TimeoutStopSec Restart RestartSec".split(" "),
			..."LimitNOFILE NoNewPrivileges".split(" "),
		],
		Install: ["WantedBy"],
	};

	test.each([TEMPLATE, DROP_IN])("%s has only directives that systemd knows", (name) => {
		for (const [section, lines] of parseUnit(fileOf(name))) {
			for (const [directive] of lines) expect(DIRECTIVES[section], section).toContain(directive);
		}
	});

	test("let tools finish while the server drains, and wait for it for longer than that", () => {
		const service = new Map(parseUnit(fileOf(TEMPLATE)).get("Service"));
		expect(service.get("KillMode")).toBe("mixed");
		expect(Number(service.get("TimeoutStopSec"))).toBeGreaterThan(DRAIN_SECONDS);
		expect(service.get("StateDirectoryMode")).toBe("0700");
		expect(service.get("EnvironmentFile")).toBe("/etc/strata/database.env");
		expect(fileOf(TEMPLATE) + fileOf(DROP_IN)).not.toMatch(/postgres(ql)?:\/\/|PASSWORD=/);
	});

	const verifier = spawnSync("systemd-analyze", ["--version"]).status === 0;
	test.runIf(verifier)(
		verifier
			? "pass systemd-analyze verify"
			: "pass systemd-analyze verify (skipped: systemd is not installed)",
		() => {
			const folder = tempDir("units");
			cpSync(FOLDER, folder, { recursive: true });
			for (const name of [TEMPLATE, DROP_IN]) {
				// The program and its user are not on this machine.
				const text = fileOf(name).replaceAll("/usr/bin/strata", "/bin/true");
				writeFileSync(join(folder, name), text.replace("User=strata", "User=root"));
			}
			const done = spawnSync("systemd-analyze", ["verify", join(folder, "strata@3141.service")], {
				encoding: "utf8",
				env: { ...process.env, SYSTEMD_LOG_LEVEL: "warning" },
			});
			const about = done.stderr.split("\n").filter((line) => line.includes("strata@"));
			expect(about).toEqual([]);
			writeFileSync(join(folder, TEMPLATE), `${fileOf(TEMPLATE)}\n[Service]\nKillMood=mixed\n`);
			const wrong = spawnSync("systemd-analyze", ["verify", join(folder, "strata@3141.service")], {
				encoding: "utf8",
			});
			expect(wrong.stderr).toContain("KillMood");
		},
	);

	test.runIf(canRun)(
		withPostgres("start three instances on one machine that take a client each"),
		async () => {
			const folder = tempDir("systemd");
			const enabled = readmeCommands("systemd").find((line) => line.includes("enable"));
			const ports = [...(enabled ?? "").matchAll(/strata@(\d+)/g)].map(([, port = ""]) => port);
			expect(ports).toEqual(["3141", "3142", "3143"]);
			const planned = systemdServers(ports.map((port) => ({ port, machine: "127.0.0.1" })));
			const loopback = ownAddress(0);
			const running = await run(
				// Another server of this machine may have the port on 127.0.0.1.
				planned.map((one) => ({ ...one, words: [...one.words, "--host", loopback] })),
				{
					hosts: new Map([["127.0.0.1", loopback]]),
					folder,
					env: {},
					paths: () => [
						["/var/lib", folder],
						["/srv/work", join(folder, "work")],
					],
				},
			);
			await expectCluster(running);
		},
	);

	test.runIf(canRun)(
		withPostgres("start an instance on each of three machines with the drop-in"),
		async () => {
			const folder = tempDir("machines");
			copyFileSync(join(FOLDER, "certificates.sh"), join(folder, "certificates.sh"));
			const line = readmeCommands("systemd").find((one) => one.includes("certificates.sh")) ?? "";
			const [, , , , ...machines] = line.split(" ");
			expect(machines).toHaveLength(3);
			const planned = systemdServers(
				machines.map((machine) => ({ port: "3141", machine })),
				DROP_IN,
			);
			const hosts = hostsOf(planned);
			const etc = join(folder, "etc");
			shell([inHosts(line.replace("sudo ", "").replace("/etc/strata", `"${etc}"`), hosts)], folder);
			expect(statSync(join(etc, "key.pem")).mode & 0o777).toBe(0o600);
			const running = await run(planned, {
				hosts,
				folder,
				env: {},
				paths: (name) => [
					["/var/lib", join(folder, name)],
					["/run/credentials/strata", etc],
					["/etc/strata", etc],
					["/srv/work", join(folder, name, "work")],
				],
			});
			await expectCluster(running, join(etc, "authority.pem"));
		},
	);
});

describe("the Kubernetes file", () => {
	const resources = kubernetes();
	const find = (kind: string, name: string) =>
		resources.find((one) => one.kind === kind && one.metadata.name === name);
	const set = find("StatefulSet", "strata");
	const pod = set.spec.template.spec;

	test("has kinds and fields that Kubernetes knows", () => {
		expect(resources.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)).toEqual([
			"v1 Service",
			"v1 Service",
			"policy/v1 PodDisruptionBudget",
			"apps/v1 StatefulSet",
			"v1 Service",
			"apps/v1 StatefulSet",
		]);
		for (const { kind, metadata, spec, ...rest } of resources) {
			expect(Object.keys(rest)).toEqual(["apiVersion"]);
			expect(Object.keys(metadata)).toEqual(["name"]);
			expectFields(spec, FIELDS[kind as keyof typeof FIELDS], `${kind} ${metadata.name}`);
		}
	});

	test("selects its own pods, and a headless service gives them names", () => {
		for (const { kind, spec } of resources) {
			if (kind !== "StatefulSet") continue;
			const { labels } = spec.template.metadata;
			expect(spec.selector.matchLabels).toEqual(labels);
			const service = find("Service", spec.serviceName);
			expect(service.spec).toMatchObject({ clusterIP: "None", selector: labels });
		}
		expect(find("Service", "strata-peers").spec.publishNotReadyAddresses).toBe(true);
		expect(find("Service", "strata").spec.selector).toEqual(set.spec.template.metadata.labels);
		expect(find("PodDisruptionBudget", "strata").spec).toEqual({
			maxUnavailable: 1,
			selector: set.spec.selector,
		});
	});

	test("keeps pods apart, waits for the drain, and asks the server whether it is ready", () => {
		expect(set.spec.replicas).toBe(3);
		expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(DRAIN_SECONDS);
		const [{ podAffinityTerm: term }] =
			pod.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution;
		expect(term.labelSelector).toEqual(set.spec.selector);
		const [container] = pod.containers;
		expect(container.readinessProbe.httpGet.path).toBe("/readyz");
		for (const probe of ["readinessProbe", "livenessProbe", "startupProbe"]) {
			const { port, scheme } = container[probe].httpGet;
			expect(scheme).toBe("HTTPS");
			expect(container.ports.map(({ name }: { name: string }) => name)).toContain(port);
		}
		expect(container.ports[0].containerPort).toBe(3141);
		expect(container.image).toMatch(new RegExp(`:${packageVersion().replaceAll(".", "\\.")}$`));
	});

	test("mounts volumes that it has, and secrets that the README creates", () => {
		for (const { kind, spec } of resources) {
			if (kind !== "StatefulSet") continue;
			const inside = spec.template.spec;
			const claims = spec.volumeClaimTemplates.map(
				({ metadata }: { metadata: { name: string } }) => metadata.name,
			);
			const given = (inside.volumes ?? []).map(({ name }: { name: string }) => name);
			const mounted = inside.containers[0].volumeMounts.map(({ name }: { name: string }) => name);
			expect(mounted.sort()).toEqual([...claims, ...given].sort());
		}
		const commands = readmeCommands("Kubernetes").join("\n");
		expect(commands).toContain("create secret generic strata-tls ");
		expect(commands).toContain("create secret generic strata-database --from-literal=password=");
		for (const { kind, spec } of resources) {
			if (kind !== "StatefulSet") continue;
			for (const { valueFrom } of spec.template.spec.containers[0].env) {
				if (!valueFrom?.secretKeyRef) continue;
				expect(valueFrom.secretKeyRef).toEqual({ name: "strata-database", key: "password" });
			}
		}
		expect(pod.volumes[0].secret.secretName).toBe("strata-tls");
		expect(fileOf("kubernetes.yaml")).not.toMatch(/postgres:\/\/[^@\s]*:[^@\s]*@/);
	});

	test.runIf(canRun)(withPostgres("starts pods that take a client each"), async () => {
		const folder = tempDir("kubernetes");
		copyFileSync(join(FOLDER, "certificates.sh"), join(folder, "certificates.sh"));
		const planned = kubernetesServers();
		const hosts = hostsOf(planned);
		const [certificates = "", secret = ""] = readmeCommands("Kubernetes");
		for (const host of hosts.keys()) expect(certificates).toContain(` ${host} `);
		shell([inHosts(certificates, hosts)], folder);
		const tls = join(folder, "run", "strata-tls");
		mkdirSync(tls, { recursive: true });
		for (const [, key = "", file = ""] of secret.matchAll(/--from-file=([\w.]+)=(\S+)/g)) {
			copyFileSync(join(folder, file), join(tls, key));
		}
		const running = await run(planned, {
			hosts,
			folder,
			env: {},
			paths: (name) => [
				["/run/secrets", join(folder, "run")],
				["/data", volume(join(folder, name, "data"))],
				["/work", volume(join(folder, name, "work"))],
			],
		});
		await expectCluster(running, join(tls, "ca.crt"));
		// As the kubelet asks: by the pod's address.
		const { path } = pod.containers[0].readinessProbe.httpGet;
		for (const { host } of running) {
			const url = `https://${host}:3141${path}`;
			const script = `fetch("${url}").then(({ status }) => process.exit(status === 200 ? 0 : 1))`;
			const env = { ...process.env, NODE_EXTRA_CA_CERTS: join(tls, "ca.crt") };
			expect(spawnSync(process.execPath, ["-e", script], { env }).status).toBe(0);
		}
	});
});

/** A volume whose group may write, as `fsGroup` makes it. */
function volume(path: string): string {
	mkdirSync(path, { recursive: true, mode: 0o2770 });
	execFileSync("chmod", ["2770", path]);
	return path;
}

type Fields = { readonly [name: string]: Fields | readonly [Fields] | "value" | "map" };

const META: Fields = { name: "value" };
const SELECTOR: Fields = { matchLabels: "map" };
const HTTP: Fields = {
	httpGet: { path: "value", port: "value", scheme: "value" },
	exec: { command: "value" },
	periodSeconds: "value",
	timeoutSeconds: "value",
	failureThreshold: "value",
};
/** Fields of Kubernetes' API that the file uses. */
const FIELDS = {
	Service: {
		clusterIP: "value",
		publishNotReadyAddresses: "value",
		selector: "map",
		ports: [{ name: "value", port: "value" }],
	},
	PodDisruptionBudget: { maxUnavailable: "value", selector: SELECTOR },
	StatefulSet: {
		serviceName: "value",
		replicas: "value",
		podManagementPolicy: "value",
		selector: SELECTOR,
		template: {
			metadata: { labels: "map" },
			spec: {
				terminationGracePeriodSeconds: "value",
				securityContext: {
					runAsNonRoot: "value",
					runAsUser: "value",
					runAsGroup: "value",
					fsGroup: "value",
					fsGroupChangePolicy: "value",
				},
				affinity: {
					podAntiAffinity: {
						preferredDuringSchedulingIgnoredDuringExecution: [
							{
								weight: "value",
								podAffinityTerm: { topologyKey: "value", labelSelector: SELECTOR },
							},
						],
					},
				},
				containers: [
					{
						name: "value",
						image: "value",
						args: "value",
						env: [
							{
								name: "value",
								value: "value",
								valueFrom: {
									fieldRef: { fieldPath: "value" },
									secretKeyRef: { name: "value", key: "value" },
								},
							},
						],
						ports: [{ name: "value", containerPort: "value" }],
						readinessProbe: HTTP,
						livenessProbe: HTTP,
						startupProbe: HTTP,
						securityContext: {
							allowPrivilegeEscalation: "value",
							capabilities: { drop: "value" },
						},
						volumeMounts: [{ name: "value", mountPath: "value", readOnly: "value" }],
					},
				],
				volumes: [{ name: "value", secret: { secretName: "value", defaultMode: "value" } }],
			},
		},
		volumeClaimTemplates: [
			{
				metadata: META,
				spec: { accessModes: "value", resources: { requests: "map" } },
			},
		],
	},
} as const satisfies Record<string, Fields>;

function expectFields(value: unknown, fields: Fields | readonly [Fields], where: string): void {
	if (Array.isArray(fields)) {
		expect(Array.isArray(value), where).toBe(true);
		for (const one of value as unknown[]) expectFields(one, fields[0] as Fields, where);
		return;
	}
	for (const [name, inside] of Object.entries(value as object)) {
		const field = (fields as Fields)[name];
		expect(field, `${where}.${name} is a field`).toBeDefined();
		if (field !== undefined && field !== "value" && field !== "map") {
			expectFields(inside, field, `${where}.${name}`);
		}
	}
}

/** Loopback addresses that only this test process uses. */
function ownAddress(number: number): string {
	return `127.${128 + ((process.pid >> 8) & 127)}.${process.pid & 255}.${number + 1}`;
}

function hostsOf(planned: readonly PlannedServer[]): Map<string, string> {
	return new Map(planned.map(({ host }, index) => [host, ownAddress(index)]));
}

/** The line with addresses instead of names. */
function inHosts(line: string, hosts: ReadonlyMap<string, string>): string {
	return line
		.split(" ")
		.map((word) => hosts.get(word) ?? word)
		.join(" ");
}

function shell(lines: readonly string[], cwd: string): void {
	execFileSync("sh", ["-euc", lines.join("\n")], { cwd, stdio: "pipe" });
}

interface Running {
	readonly host: string;
	readonly url: string;
	readonly server: ServeProcess;
}

/** Starts the very commands as plain processes, with other folders and addresses, on one Postgres. */
async function run(
	planned: readonly PlannedServer[],
	given: {
		hosts: ReadonlyMap<string, string>;
		folder: string;
		env: NodeJS.ProcessEnv;
		paths(name: string): [from: string, to: string][];
	},
): Promise<Running[]> {
	const database = await (await sharedPostgres()).database();
	const running: Running[] = [];
	for (const [index, { host, words, env, cwd }] of planned.entries()) {
		const address = given.hosts.get(host) ?? host;
		const paths = given.paths(`server-${index}`);
		const adapted = (text: string) => {
			if (text === "0.0.0.0") return address;
			for (const [from, to] of paths) {
				if (text === from || text.startsWith(`${from}/`)) return `${to}${text.slice(from.length)}`;
			}
			return text.replace(`//${host}:`, `//${address}:`);
		};
		const [command, ...rest] = words;
		expect(command).toBe("serve");
		const folder = adapted(cwd);
		mkdirSync(folder, { recursive: true });
		const variables = Object.entries(env).map(([name, value]) => [name, adapted(value)]);
		const { PI_CODING_AGENT_DIR: agentDir, ...others } = Object.fromEntries(variables);
		expect(existsSync(agentDir)).toBe(false);
		const server = startServe([...rest.map(adapted), "--json"], {
			agentDir,
			cwd: folder,
			env: { ...others, ...given.env, STRATA_DATABASE: database },
		});
		atEnd(() => server.child.kill());
		running.push({ host: address, url: "", server });
	}
	const ready = await Promise.all(running.map(({ server }) => server.ready()));
	return running.map((one, index) => ({ ...one, url: String(ready[index]?.url) }));
}

/** Every server is linked to the two others, and takes a client. */
async function expectCluster(running: readonly Running[], authority?: string): Promise<void> {
	expect(running).toHaveLength(3);
	for (const { url, server } of running) {
		expect(url).toMatch(authority === undefined ? /^http:/ : /^https:/);
		await vi.waitFor(async () => {
			const { servers = [] } = await metricsOf(url, server.token(), authority);
			expect(servers.filter(({ isLinked }) => isLinked)).toHaveLength(2);
		}, PATIENCE);
		const file = join(root, "examples", "two-clients.js");
		const { stdout } = await promisify(execFile)(
			process.execPath,
			[file, `${url}#token=${server.token()}`],
			{
				timeout: PATIENCE_MS,
				env: { ...process.env, ...(authority !== undefined && { NODE_EXTRA_CA_CERTS: authority }) },
			},
		);
		expect(stdout).toContain("taken: the session is at version 1\n");
		expect(stdout).toMatch(/Bob sees event \d+: session_info_changed/);
	}
	for (const { server } of running) expect(server.err()).not.toContain("cannot link");
}

function metricsOf(
	url: string,
	token: string,
	authority: string | undefined,
): Promise<{ servers?: { isLinked?: boolean }[] }> {
	// An id that was used before gets the answer of then.
	const id = randomUUID();
	return new Promise((resolve, reject) => {
		const socket = new WebSocket(url.replace("http", "ws"), {
			headers: { authorization: `Bearer ${token}` },
			...(authority !== undefined && { ca: readFileSync(authority) }),
		});
		socket.on("error", reject);
		socket.on("open", () => socket.send(JSON.stringify({ type: "get_metrics", id })));
		socket.on("message", (data) => {
			const frame = JSON.parse(String(data));
			if (frame.id !== id || frame.type !== "response") return;
			socket.close();
			resolve(frame.data);
		});
	});
}

import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { AGENTS } from "../../src/setup/agents.ts";
import { agentPlace } from "../../src/setup/places.ts";
import { startCommand } from "../../src/setup/start-command.ts";
import { quoted, wantedOf } from "../../src/setup/wanted.ts";
import { tempDir } from "../support/temp.ts";

const filesOn = (platform: NodeJS.Platform, env: NodeJS.ProcessEnv, piFolder = "/pi") =>
	Object.fromEntries(
		AGENTS.map(({ name }) => [name, agentPlace(name, { env, platform, piFolder }).files[0]]),
	);

test("every agent has its file where it looks for it on Linux", () => {
	expect(filesOn("linux", { HOME: "/home/me" })).toEqual({
		"claude-code": "/home/me/.claude.json",
		codex: "/home/me/.codex/config.toml",
		opencode: "/home/me/.config/opencode/opencode.json",
		"gemini-cli": "/home/me/.gemini/settings.json",
		cursor: "/home/me/.cursor/mcp.json",
		zed: "/home/me/.config/zed/settings.json",
		"vs-code": "/home/me/.config/Code/User/mcp.json",
		pi: "/pi/settings.json",
	});
});

test("variables of the user move them, but for a relative XDG folder", () => {
	const env = {
		HOME: "/h",
		XDG_CONFIG_HOME: "/x",
		CLAUDE_CONFIG_DIR: "/c",
		CODEX_HOME: "/o",
		GEMINI_CLI_HOME: "/g",
	};
	const moved = filesOn("linux", env);
	expect(moved["claude-code"]).toBe("/c/.claude.json");
	expect(moved.codex).toBe("/o/config.toml");
	expect(moved.opencode).toBe("/x/opencode/opencode.json");
	expect(moved["gemini-cli"]).toBe("/g/.gemini/settings.json");
	expect(moved.zed).toBe("/x/zed/settings.json");
	expect(moved["vs-code"]).toBe("/x/Code/User/mcp.json");
	const machine = { env, platform: "linux", piFolder: "/pi" } as const;
	expect(agentPlace("claude-code", machine).settings).toBe("/c/settings.json");
	expect(filesOn("linux", { HOME: "/h", XDG_CONFIG_HOME: "x" }).zed).toBe(
		"/h/.config/zed/settings.json",
	);
});

test("macOS and Windows have their own folders", () => {
	const mac = filesOn("darwin", { HOME: "/Users/me" });
	expect(mac["vs-code"]).toBe("/Users/me/Library/Application Support/Code/User/mcp.json");
	expect(mac.zed).toBe("/Users/me/.config/zed/settings.json");
	const windows = filesOn("win32", { USERPROFILE: "C:\\Users\\me", APPDATA: "C:\\Users\\me\\R" });
	expect(windows["claude-code"]).toBe("C:\\Users\\me\\.claude.json");
	expect(windows["vs-code"]).toBe("C:\\Users\\me\\R\\Code\\User\\mcp.json");
	expect(windows.zed).toBe("C:\\Users\\me\\R\\Zed\\settings.json");
	expect(windows.opencode).toBe("C:\\Users\\me\\.config\\opencode\\opencode.json");
	expect(filesOn("win32", { USERPROFILE: "C:\\u" })["vs-code"]).toBe(
		"C:\\u\\AppData\\Roaming\\Code\\User\\mcp.json",
	);
});

test("agents start strata by absolute paths, with the Node that runs now", () => {
	const start = { execPath: "/n/node", packageFolder: "/a b/pi-strata", env: { PATH: "/usr/bin" } };
	expect(startCommand({ ...start, platform: "linux" })).toEqual([
		"/n/node",
		"/a b/pi-strata/bin/strata.js",
	]);
});

test("a link on the path that outlives a version of Node is preferred to the version's folder", () => {
	const folder = tempDir("node");
	const real = join(folder, "Cellar-node-24");
	writeFileSync(real, "");
	for (const name of ["bin", "fnm_multishells"]) {
		mkdirSync(join(folder, name));
		symlinkSync(real, join(folder, name, "node"));
	}
	const start = { execPath: real, packageFolder: "/p", platform: "linux" } as const;
	const PATH = [join(folder, "fnm_multishells"), join(folder, "bin")].join(delimiter);
	const links = startCommand({ ...start, env: { PATH } });
	// Folders for temporary files do not last either, and the test works in one.
	expect([real, join(folder, "bin", "node")]).toContain(links[0]);
	expect(startCommand({ ...start, env: { PATH: join(folder, "fnm_multishells") } })[0]).toBe(real);
});

test("a package that npx fetched is started by npx, since its folder does not last", () => {
	const start = {
		execPath: "/n/node",
		packageFolder: "/h/.npm/_npx/1f/node_modules/pi-strata",
		env: {},
	};
	expect(startCommand({ ...start, platform: "linux" })).toEqual(["npx", "-y", "pi-strata"]);
	expect(startCommand({ ...start, platform: "win32" })).toEqual([
		"cmd",
		"/c",
		"npx",
		"-y",
		"pi-strata",
	]);
});

test("through npx, Claude Code gets a hook only if that is asked for", () => {
	const place = { folder: "/h", files: ["/h/a"] as const, file: "/h/a", settings: "/h/s" };
	const wish = {
		...{ words: ["npx", "-y", "pi-strata"], platform: "linux" as const, hookMatcher: "Read" },
		...{ readPermission: "Read(x)", pluginUrl: "file:///p", packageFolder: "/p" },
	};
	const kinds = (savings?: "shadow") =>
		wantedOf("claude-code", place, { ...wish, savings }, () => ({})).files.flatMap(({ keys }) =>
			keys.map(({ kind }) => kind),
		);
	expect(kinds()).toEqual(["server"]);
	expect(kinds("shadow")).toEqual(["server", "hook"]);
});

test("a shell starts the quoted words, whatever their paths are", () => {
	const script = join(tempDir("it's $HOME `x`"), "print.cjs");
	writeFileSync(script, "console.log(process.argv.slice(2).join());");
	const words = [process.execPath, script, "hook", "a b"];
	const command = words.map((word) => quoted(word, "linux")).join(" ");
	expect(execFileSync("/bin/sh", ["-c", command], { encoding: "utf8" })).toBe("hook,a b\n");
});

test("words for a shell are quoted if they need it", () => {
	expect(quoted("/usr/bin/node", "linux")).toBe("/usr/bin/node");
	expect(quoted("/it's a/node", "linux")).toBe("'/it'\\''s a/node'");
	expect(quoted("C:\\Program Files\\node.exe", "win32")).toBe('"C:\\Program Files\\node.exe"');
});

import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, test, vi } from "vitest";
import {
	agentFolder,
	cacheFolder,
	configuredFolder,
	expandHome,
	isWithin,
	projectRoot,
	userFolder,
} from "../../src/core/places.ts";
import { sdk } from "../support/pi-sdk.ts";
import { atEnd, tempDir } from "../support/temp.ts";

describe("the user's folder", () => {
	const own = tempDir();
	mkdirSync(join(own, "src"));
	const project = tempDir();
	const link = join(project, "link");
	symlinkSync(own, link);

	test.each([
		["is the working folder", project, undefined, project],
		["is where npm was called, for a script of npm", own, project, project],
		["is the working folder, whatever npm has started above it", project, own, project],
		["is unknown in the clone", own, undefined, undefined],
		["is unknown when npm was called in the clone", own, own, undefined],
		["is unknown when npm was called in a folder of the clone", own, join(own, "src"), undefined],
		["is unknown behind a link to the clone", link, link, undefined],
		["is named though it is gone", join(project, "gone"), undefined, join(project, "gone")],
	])("%s", (_name, cwd, INIT_CWD, expected) => {
		expect(userFolder({ cwd, env: INIT_CWD === undefined ? {} : { INIT_CWD } }, own)).toBe(
			expected,
		);
	});
});

describe("the agent folder", () => {
	test.each([
		["is not named", undefined],
		["is named as nothing", ""],
		["is named in full", "/somewhere/pi"],
		["is named from the home folder", "~/pi-agent"],
		["is the home folder", "~"],
		["is named from the working folder", "state/pi"],
	])("is the one pi uses when it %s", (_name, value) => {
		vi.stubEnv("PI_CODING_AGENT_DIR", value);
		atEnd(() => vi.unstubAllEnvs());
		expect(agentFolder()).toBe(resolve(sdk.getAgentDir()));
		expect(agentFolder(value === undefined ? {} : { PI_CODING_AGENT_DIR: value })).toBe(
			agentFolder(),
		);
	});
});

describe("the cache folder", () => {
	test("is the one that the user names, if the name is absolute", () => {
		for (const platform of ["linux", "darwin"] as const) {
			expect(cacheFolder({ XDG_CACHE_HOME: "/caches" }, platform)).toBe(
				join("/caches", "pi-strata"),
			);
		}
		expect(cacheFolder({ XDG_CACHE_HOME: "caches" }, "linux")).toBe(cacheFolder({}, "linux"));
		expect(cacheFolder({ XDG_CACHE_HOME: "" }, "linux")).toBe(cacheFolder({}, "linux"));
	});

	test("is else where the system keeps such things", () => {
		expect(cacheFolder({}, "linux")).toBe(join(homedir(), ".cache", "pi-strata"));
		expect(cacheFolder({}, "darwin")).toBe(join(homedir(), "Library", "Caches", "pi-strata"));
		expect(cacheFolder({ LOCALAPPDATA: "/local" }, "win32")).toBe(
			join("/local", "pi-strata", "Cache"),
		);
		expect(cacheFolder({}, "win32")).toBe(
			join(homedir(), "AppData", "Local", "pi-strata", "Cache"),
		);
	});
});

test("only a leading ~ that stands alone is the home folder", () => {
	expect(expandHome("~")).toBe(homedir());
	expect(expandHome("~/a/b")).toBe(join(homedir(), "a", "b"));
	for (const path of ["~other/a", "a/~/b", "./~", "", "/~"]) expect(expandHome(path)).toBe(path);
});

describe("the root of a project", () => {
	test("is the nearest folder above with a repository, not the outermost", () => {
		const outer = tempDir();
		const inner = join(outer, "packages", "inner");
		mkdirSync(join(outer, ".git"));
		mkdirSync(join(inner, "src", "deep"), { recursive: true });
		expect(projectRoot(join(inner, "src", "deep"))).toBe(outer);
		mkdirSync(join(inner, ".git"));
		expect(projectRoot(join(inner, "src", "deep"))).toBe(inner);
		expect(projectRoot(inner)).toBe(inner);
		expect(projectRoot(`${inner}/src/../src/`)).toBe(inner);
	});

	test("is found in a worktree, where .git is a file", () => {
		const worktree = tempDir();
		mkdirSync(join(worktree, "src"));
		writeFileSync(join(worktree, ".git"), "gitdir: /elsewhere\n");
		expect(projectRoot(join(worktree, "src"))).toBe(worktree);
	});

	test("is the working folder itself where there is no repository, or no folder", () => {
		const folder = tempDir();
		expect(projectRoot(folder)).toBe(folder);
		expect(projectRoot(join(folder, "not", "there"))).toBe(join(folder, "not", "there"));
	});
});

test("a configured folder is taken from its base unless it is absolute or begins at home", () => {
	expect(configuredFolder("cache", "/base")).toBe(resolve("/base/cache"));
	expect(configuredFolder("../cache/./x", "/base/project")).toBe(resolve("/base/cache/x"));
	expect(configuredFolder("/var/cache/", "/base")).toBe(resolve("/var/cache"));
	expect(configuredFolder("~/cache", "/base")).toBe(join(homedir(), "cache"));
	expect(configuredFolder(".", "/base")).toBe(resolve("/base"));
});

test("what is in a folder is within it; the folder itself and its neighbours are not", () => {
	const inside = ["/a/b/c", "/a/b/c/d", "/a/b/..c", "/a/b/x/../c"];
	const outside = ["/a/b", "/a", "/a/bc", "/a/b/../c", "/"];
	expect(inside.filter((path) => !isWithin("/a/b", path))).toEqual([]);
	expect(outside.filter((path) => isWithin("/a/b", path))).toEqual([]);
});

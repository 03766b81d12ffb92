import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { openBrowser } from "../../src/cli/serve.ts";
import { PATIENCE } from "../support/patience.ts";
import { atEnd, tempDir } from "../support/temp.ts";

test.runIf(process.platform === "linux")(
	"a browser that the server opens is no tool, so the guard of tools does not end it",
	async () => {
		const [bin, out] = [tempDir(), join(tempDir(), "env")];
		writeFileSync(
			join(bin, "xdg-open"),
			`#!/bin/sh\nenv > "${out}.part"; mv "${out}.part" "${out}"\n`,
		);
		chmodSync(join(bin, "xdg-open"), 0o755);
		vi.stubEnv("PATH", `${bin}:${process.env.PATH}`);
		vi.stubEnv("STRATA_TOOLS_OF", "the mark of tools");
		atEnd(() => vi.unstubAllEnvs());
		await openBrowser("http://127.0.0.1:1/", tempDir(), {} as never);
		await vi.waitFor(() => expect(existsSync(out)).toBe(true), PATIENCE);
		expect(readFileSync(out, "utf8")).toContain("PATH=");
		expect(readFileSync(out, "utf8")).not.toContain("the mark of tools");
	},
);

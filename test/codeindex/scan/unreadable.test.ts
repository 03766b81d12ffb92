import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { tempDir } from "../../support/temp.ts";
import { scanTree } from "./fresh-scan.ts";

/** Permissions mean nothing to the superuser, as whom tests run in containers: so the system's refusal is played. */
vi.mock("node:fs", async (original) => {
	const real = await original<typeof import("node:fs")>();
	const readdirSync = (path: string, options: { withFileTypes: true }) => {
		if (!path.endsWith("closed")) return real.readdirSync(path, options);
		throw Object.assign(new Error(`EACCES: permission denied, scandir '${path}'`), {
			code: "EACCES",
		});
	};
	return { ...real, readdirSync };
});

test("a folder that cannot be read is named, and the rest is found", async () => {
	const root = tempDir();
	for (const folder of ["closed", "open"]) {
		mkdirSync(join(root, folder));
		writeFileSync(join(root, folder, "x.ts"), "");
	}
	const tree = await scanTree(root);
	expect(tree.files.map((file) => file.path)).toEqual(["open/x.ts"]);
	expect(tree.trouble).toMatchObject([{ kind: "unreadable", path: "closed" }]);
});

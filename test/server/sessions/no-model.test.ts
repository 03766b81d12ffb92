import { join } from "node:path";
import { expect, test } from "vitest";
import { sdk } from "../../support/pi-sdk.ts";
import { tempDir } from "../../support/temp.ts";
import { withSession } from "./with-session.ts";

test("a prompt where no model is set up says so, and what to do", async () => {
	const modelRuntime = await sdk.ModelRuntime.create({
		authPath: join(tempDir(), "auth.json"),
		modelsPath: null,
		refreshOnCreate: false,
	});
	const server = await withSession(0, { modelRuntime });
	const asked = server.run("prompt", { message: "hello" });
	await expect(asked).rejects.toMatchObject({ code: "wrong_state" });
	await expect(asked).rejects.toThrow(/no model is set up.*\/login.*--demo/i);
	await expect(asked).rejects.not.toThrow("unknown");
});

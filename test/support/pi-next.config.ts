import { fileURLToPath } from "node:url";
import { mergeConfig } from "vitest/config";
import base from "../../vitest.config.ts";

const pi = process.env.PI_SDK;
if (!pi) throw new Error("PI_SDK is not set: use `npm run test:pi-next`");

/** For pi-next.ts: source that imports pi gets the pi under test, as it does inside that pi. */
export default mergeConfig(base, {
	resolve: { alias: { "@earendil-works/pi-coding-agent": fileURLToPath(pi) } },
});

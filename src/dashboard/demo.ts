import type { SessionInfo } from "../protocol/index.ts";

/** The provider of the model that is a script. */
const DEMO_PROVIDER = "strata-demo";

/** Whether a session's model is the demo's. Then the server has no other: it never offers both. */
export function isDemo({ model }: Pick<SessionInfo, "model">): boolean {
	return model?.provider === DEMO_PROVIDER;
}

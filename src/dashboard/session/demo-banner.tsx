import { client } from "../connection/connection.ts";
import { reporting } from "../parts/reporting.ts";
import type { OpenSession } from "./open-session.ts";

/** The provider of the model that is a script. */
const DEMO_PROVIDER = "strata-demo";

/** Where the server makes sample projects. A stored session may belong to any other folder. */
const SAMPLE = /[\\/]demo[\\/]projects[\\/]/;

const FIRST_PROMPT =
	"Orders of exactly 50.00 should get the discount. Please find out why they do not.";

/** Says that a demo is one, and starts it. */
export function DemoBanner({ session }: { session: OpenSession }) {
	const { sessionId } = session;
	const state = session.state.value;
	if (state?.model?.provider !== DEMO_PROVIDER) return null;
	const { items, isRunning } = session.conversation.value;
	const wasAsked = items.some(({ kind }) => kind === "user");
	const isOnSample = SAMPLE.test(state.cwd);
	return (
		<div class="banner is-demo">
			<p>
				<strong>Demo:</strong> a script, not an AI.
				{isOnSample && " It works on a sample project that was made for this session."}
			</p>
			{isOnSample && !wasAsked && (
				<button
					type="button"
					class="primary"
					disabled={isRunning}
					onClick={() =>
						void reporting(client().request("prompt", { sessionId, message: FIRST_PROMPT }))
					}
				>
					Send the first prompt
				</button>
			)}
		</div>
	);
}

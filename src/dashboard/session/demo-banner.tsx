import type { Data } from "../../protocol/index.ts";
import { Button } from "../parts/controls.tsx";
import type { ComposerProps } from "./composer.tsx";

const SAMPLE = /[\\/]demo[\\/]projects[\\/]/;

/** The demo's script has an answer to each of these prompts. */
const PROMPTS = [
	{
		button: "Send the first prompt",
		message: "Orders of exactly 50.00 should get the discount. Please find out why they do not.",
	},
	{
		button: "Send the second prompt",
		message: "Some orders were slow last week. Please look for them in the logs.",
	},
] as const;

export function DemoBanner({
	session,
	outbox,
	onSend,
}: Omit<ComposerProps, "draft" | "attachments">) {
	const state = session.state.value;
	if (!state || !isDemo(state)) return null;
	const { items, isRunning } = session.conversation.value;
	const isOnSample = SAMPLE.test(state.cwd);
	const next = PROMPTS[items.filter(({ kind }) => kind === "user").length];
	return (
		<div class="banner row is-demo">
			<p>
				<strong>Demo:</strong> the answers come from a script, not from an AI.
				{isOnSample && " The script works on a sample project created for this session."}
			</p>
			{isOnSample && next && (
				<Button
					class="primary"
					disabled={isRunning || outbox.pending.value.length > 0}
					onClick={() => {
						onSend();
						outbox.send(next.message);
					}}
					label={next.button}
				/>
			)}
		</div>
	);
}

/** The provider of the demo's model. */
export const DEMO_PROVIDER = "strata-demo";

/** Whether the model is the demo's. A server with the demo's model offers no other model. */
export function isDemo({ model }: Pick<Data<"SessionInfo">, "model">): boolean {
	return model?.provider === DEMO_PROVIDER;
}

/** Marks an amount of money that no provider charged. */
export function MadeUp({ isShown }: { isShown: boolean }) {
	if (!isShown) return null;
	return (
		<span class="made-up" title="The demo's prices are made up: no money was spent">
			made up
		</span>
	);
}

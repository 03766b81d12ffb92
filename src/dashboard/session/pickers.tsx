import { useAnswer } from "../answer.ts";
import { client } from "../connection/connection.ts";
import { reporting } from "../parts/toasts.tsx";
import { visibleString } from "../parts/visible-text.ts";
import type { OpenSession } from "./open-session.ts";

type ThinkingLevel = NonNullable<OpenSession["state"]["value"]>["thinkingLevel"];

export function Pickers({ session }: { session: OpenSession }) {
	const { sessionId } = session;
	const state = session.state.value;
	const current = state?.model && nameOf(state.model);
	const isReady = state !== undefined;
	const models = useAnswer("get_available_models", isReady ? { sessionId } : undefined).data
		?.models;
	const levels = useAnswer(
		"get_available_thinking_levels",
		isReady ? { sessionId } : undefined,
		current,
	).data?.levels;
	if (!state) return <span class="pickers" />;
	const known = models ?? [];
	const offered =
		state.model && !known.some((model) => nameOf(model) === current)
			? [state.model, ...known]
			: known;
	return (
		<span class="pickers">
			<select
				aria-label="Model"
				value={current ?? ""}
				onChange={(event) => {
					const chosen = offered.find((model) => nameOf(model) === event.currentTarget.value);
					if (!chosen) return;
					const { provider, id } = chosen;
					void reporting(client().request("set_model", { sessionId, provider, modelId: id }));
				}}
			>
				{!current && <option value="">No model</option>}
				{offered.map((model) => (
					<option key={nameOf(model)} value={nameOf(model)}>
						{visibleString(nameOf(model))}
					</option>
				))}
			</select>
			{(levels?.length ?? 0) > 1 && (
				<select
					aria-label="Thinking"
					value={state.thinkingLevel}
					onChange={(event) => {
						const level = event.currentTarget.value as ThinkingLevel;
						void reporting(client().request("set_thinking_level", { sessionId, level }));
					}}
				>
					{levels?.map((level) => (
						<option key={level} value={level}>
							thinking: {level}
						</option>
					))}
				</select>
			)}
		</span>
	);
}

function nameOf({ provider, id }: { provider: string; id: string }): string {
	return `${provider}/${id}`;
}

import type { SessionConfigOption } from "@agentclientprotocol/sdk";
import type { Data } from "../protocol/index.ts";

type Model = Data<"Model">;
type ThinkingLevel = Data<"SessionInfo">["thinkingLevel"];

interface Choices {
	readonly model: Model | undefined;
	readonly models: readonly Model[];
	readonly level: ThinkingLevel;
	readonly levels: readonly ThinkingLevel[];
}

export const MODEL = "model";
export const THINKING = "thinking";

/** What the user can choose for a session. Without a choice there is no option. */
export function configOptions({ model, models, level, levels }: Choices): SessionConfigOption[] {
	const isListed = model && models.some((one) => modelValue(one) === modelValue(model));
	const listed = model && !isListed ? [model, ...models] : models;
	return [
		...(model
			? [
					{
						...{ id: MODEL, name: "Model", category: "model", type: "select" as const },
						currentValue: modelValue(model),
						options: listed.map((one) => ({
							...{ value: modelValue(one), name: one.name, description: one.provider },
						})),
					},
				]
			: []),
		...(levels.length > 1
			? [
					{
						...{ id: THINKING, name: "Thinking", category: "thought_level" },
						type: "select" as const,
						currentValue: level,
						options: levels.map((value) => ({ value, name: value })),
					},
				]
			: []),
	];
}

export function modelValue({ provider, id }: Pick<Model, "provider" | "id">): string {
	return `${provider}/${id}`;
}

/** The scripted model of the demo. Its prices are made up: those of a typical model. */
export const DEMO_MODEL = {
	provider: "strata-demo",
	id: "scripted",
	api: "anthropic-messages",
	/** Small, so that a short conversation triggers pruning. */
	contextWindow: 56_000,
	cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
} as const;

/** Whether dollars of a model are made up. `name`: `provider/id`. */
export function isDemoModel(name: string): boolean {
	return name === `${DEMO_MODEL.provider}/${DEMO_MODEL.id}`;
}

/** Set by `strata demo` for its pi: the agent folder of the user, whose server may show the demo. */
export const DEMO_OF = "STRATA_DEMO_OF";

import { useEffect, useRef, useState } from "preact/hooks";
import type { CommandArguments, SendableCommandType } from "../protocol/client.ts";
import type { CommandFields, ResponseData } from "../protocol/index.ts";
import { client, connectionCount } from "./connection/connection.ts";
import { keepAnswer, keptAnswer } from "./kept-answers.ts";
import { errorMessage } from "./parts/figures.ts";
import { createRefresher, type Refresher } from "./refresher.ts";

interface State<Type extends SendableCommandType> {
	/** The latest answer, kept until the next one arrives. */
	readonly data: ResponseData[Type] | undefined;
	readonly error: string | undefined;
	readonly isLoading: boolean;
	/** The command and fields that `data` answers, as JSON. */
	readonly key?: string;
}

const NOTHING = { data: undefined, error: undefined, isLoading: true };

/**
 * Sends a command, and sends it again when `fields`, `version` or the connection changes. Sends nothing while
 * `fields` is undefined. Returns the latest answer: at first the one that the page got when the view was last shown.
 */
export function useAnswer<Type extends SendableCommandType>(
	type: Type,
	fields: CommandFields<Type> | undefined,
	version: unknown = 0,
) {
	const key = fields && JSON.stringify([type, fields]);
	const before = (): State<Type> => {
		if (key === undefined) return { ...NOTHING, isLoading: false };
		return { ...NOTHING, key, data: keptAnswer(key) as ResponseData[Type] | undefined };
	};
	const [state, setState] = useState(before);
	const [refreshes, setRefreshes] = useState(0);
	const refresher = useRef<Refresher>(undefined);
	useEffect(() => {
		if (!fields || key === undefined) return;
		setState((old) => (old.key === key ? old : before()));
		const current = createRefresher({
			fetch: (signal) =>
				client().request(type, ...([fields, { signal }] as CommandArguments<Type>)),
			onAnswer: ({ data }, isLast) => setState({ data, error: undefined, isLoading: !isLast, key }),
			onError: (error, isLast) =>
				setState((old) => ({ ...old, error: errorMessage(error), isLoading: !isLast })),
		});
		refresher.current = current;
		return current.stop;
	}, [key]);
	useEffect(() => {
		if (key === undefined) return;
		setState((old) => ({ ...old, isLoading: true }));
		refresher.current?.refresh();
	}, [key, version, refreshes, connectionCount.value]);
	const { data, key: drawnKey } = state;
	// Effects run once all is drawn: an answer that cannot be drawn is never shown again.
	useEffect(() => {
		if (data !== undefined && drawnKey !== undefined) keepAnswer(type, drawnKey, data);
	}, [data]);
	return { ...state, refresh: () => setRefreshes((count) => count + 1) };
}

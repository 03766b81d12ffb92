import { useEffect, useRef, useState } from "preact/hooks";
import type { CommandArguments, SendableCommandType } from "../protocol/client.ts";
import type { CommandFields, ResponseData } from "../protocol/index.ts";
import { type Asking, createAsking } from "./asking.ts";
import { client, connectionCount } from "./connection/connection.ts";
import { textOf } from "./parts/figures.ts";

interface State<Type extends SendableCommandType> {
	/** The latest answer, kept until the next arrives. */
	data: ResponseData[Type] | undefined;
	error: string | undefined;
	isAsking: boolean;
	of?: string;
}

const NOTHING = { data: undefined, error: undefined, isAsking: true };

/** Asks again when the fields, `version` or the connection change, one question at a time. With `fields` undefined nothing is asked. */
export function useAnswer<Type extends SendableCommandType>(
	type: Type,
	fields: CommandFields<Type> | undefined,
	version: unknown = 0,
) {
	const [state, setState] = useState<State<Type>>({ ...NOTHING, isAsking: fields !== undefined });
	const [times, setTimes] = useState(0);
	const key = fields && JSON.stringify([type, fields]);
	const asking = useRef<Asking>(undefined);
	useEffect(() => {
		if (!fields || key === undefined) return;
		// The answer to another question is dropped.
		setState((old) => (old.of === key ? old : { ...NOTHING, of: key }));
		const made = createAsking({
			ask: (signal) => client().request(type, ...([fields, { signal }] as CommandArguments<Type>)),
			onAnswer: ({ data }, isLast) =>
				setState({ data, error: undefined, isAsking: !isLast, of: key }),
			onError: (error, isLast) =>
				setState((old) => ({ ...old, error: textOf(error), isAsking: !isLast })),
		});
		asking.current = made;
		return made.stop;
	}, [key]);
	useEffect(() => {
		if (key === undefined) return;
		setState((old) => ({ ...old, isAsking: true }));
		asking.current?.again();
	}, [key, version, times, connectionCount.value]);
	return { ...state, refresh: () => setTimes((count) => count + 1) };
}

import type { ComponentChildren, ComponentProps } from "preact";

interface ButtonProps extends Omit<ComponentProps<"button">, "children"> {
	words: ComponentChildren;
}

/** A button of a few words; `type="submit"` sends its form. */
export function Button({ words, type = "button", ...attributes }: ButtonProps) {
	return (
		<button type={type} {...attributes}>
			{words}
		</button>
	);
}

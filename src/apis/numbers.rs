//! What entries say of the numbers in a result: their interval, where the operation or its gradient is not finite,
//! and which function a replay computes.

use super::words::vocabulary;

vocabulary! {
    /// A function on intervals, sorted by name.
    RangeFunction "range function"
    classes {
        /// Only keeps numbers between bounds.
        clamps,
        /// Makes integers of integers; what stretches numbers makes floats of them.
        keeps_integers,
        /// Autocast computes it in single precision, whatever it is given.
        widens,
        /// The function on numbers that a replay knows under the same name.
        replayed,
    }
    Abs "abs" (X) [keeps_integers replayed] "|x|";
    Add "add" (X Y) [replayed] "x + y";
    Any "any" (X; X) "any number, where any of them can be any; else not known";
    CeilAt "ceil-at" (X High) [clamps keeps_integers] "min(x, high)";
    Chosen "chosen" (Mask X Y) "of x where the mask holds, else of y";
    Clamp "clamp" (X Low High) [clamps keeps_integers] "between low and high; None is no bound";
    Clip "clip" (X Low High OldLow OldHigh) [clamps keeps_integers]
        "as clamp, bounds under either of two names";
    Cos "cos" (X) [replayed] "cosine";
    Div "div" (X Y) [replayed] "x / y";
    Elu "elu" (X [Alpha]) "not under -alpha";
    Exp "exp" (X) [widens replayed] "above zero";
    Expm1 "expm1" (X) "exp(x) - 1";
    Filled "filled" (X Mask Value) "of x where the mask does not hold, else of the value";
    FloorAt "floor-at" (X Low) [clamps keeps_integers] "max(x, low)";
    Largest "largest" (X) [keeps_integers] "of x, some of which it is, and none is larger";
    Leaky "leaky" (X Slope) "below zero the slope times x";
    Log "log" (X) [widens replayed] "natural logarithm";
    Log10 "log10" (X) "logarithm to the base 10";
    Log1p "log1p" (X) [widens replayed] "log(1 + x)";
    Log2 "log2" (X) "logarithm to the base 2";
    Logsumexp "logsumexp" (X) "log of the sum of exp(x): not under x";
    Max "max" (X Y) [replayed] "the larger of two";
    Mean "mean" (X) [replayed] "inside the bounds of x";
    Min "min" (X Y) [replayed] "the smaller of two";
    Mul "mul" (X Y) [replayed] "x * y";
    Neg "neg" (X) [keeps_integers replayed] "-x";
    Norm "norm" (X) [widens] "not negative, and zero only where numbers below zero were cut off";
    Normalized "normalized" ([Order]) "the numbers of vectors of length one";
    OptionalMax "optional-max" (X Dim) "of x, or the larger of two where dim is a tensor";
    OptionalMin "optional-min" (X Dim) "of x, or the smaller of two where dim is a tensor";
    Padded "padded" (X Padding) "of x, and of zero unless the padding is zero";
    Pixels "pixels" (X [Dtype]) "of numbers of one byte between zero and one, of others the bounds of x";
    Pow "pow" (X Y) [widens replayed] "x to the power y";
    Prod "prod" (X) [replayed] "product of elements: not negative if x is not";
    Product "product" (X Y [Bias]) "sums of products; any number where one of them is learned";
    QuotientOrZero "quotient-or-zero" (X Y) "x / y, and zero where y is";
    Reciprocal "reciprocal" (X) [widens replayed] "1 / x";
    Relu "relu" (X) [keeps_integers replayed] "max(x, 0)";
    Same "same" (X) [keeps_integers] "the bounds of x";
    Scaled "scaled" (X) "x, or zero, times something positive (dropout)";
    Scattered "scattered" (X Src [Value]) "of x and of what was put into it";
    Share "share" (X) "a softmax or sigmoid of x: rounding reaches zero and one where x is large";
    Sin "sin" (X) [replayed] "sine";
    Smallest "smallest" (X) [keeps_integers] "of x, some of which it is, and none is smaller";
    Sqrt "sqrt" (X) [replayed] "square root";
    Square "square" (X) [keeps_integers replayed] "x * x";
    Sub "sub" (X Y) [replayed] "x - y";
    Sum "sum" (X [Dim]) [replayed] "sum of elements: keeps the sign and whether zero is possible";
    Tanh "tanh" (X) [replayed] "hyperbolic tangent";
    Union "union" (X Y; Y) "of any of them";
}

vocabulary! {
    /// Where an operation, or its gradient, is not finite, sorted by name; an entry whose `range` is `div`, `exp`,
    /// `log`, `log1p`, `pow`, `reciprocal` or `sqrt` has that pole without saying so.
    PoleKind "pole"
    classes {}
    Arc "arc" (X) "x at one and minus one, and outside";
    Cholesky "cholesky" (X) "a matrix x that is not positive definite";
    Determinant "determinant" (X) "the gradient where the matrix x has no inverse";
    Diagonal "diagonal" (X) "none, and a matrix that the result is added to has an inverse";
    Div "div" (X Y) "y at zero";
    Finite "finite" (X) "none, and what is not finite in x is replaced";
    Hollow "hollow" (X Src [Value]) "none, and a count in x may be zero where zeros are put into it, one for each row";
    Inverse "inverse" (X) "a matrix x that has no inverse";
    Log "log" (X) "x at zero, and below";
    LogDeterminant "log-determinant" (X) "a matrix x that has no inverse";
    Moments "moments" (X) "in training, one number in x for each channel";
    None "none" (X) "its own code leaves x at the pole out";
    Norm "norm" (X) "the gradient where all of x is zero";
    Root "root" (X) "the gradient where x is zero; x below zero";
    Rsqrt "rsqrt" (X) "x at zero, and below";
    Variance "variance" (X [Dim Unbiased Correction]) "one number";
}

vocabulary! {
    /// What a replay computes, for entries whose `range` or `mark` does not say it, sorted by name.
    Computed "function"
    classes {}
    Acos "acos" (X) "the inverse of the cosine";
    Amax "amax" (X) "the largest element";
    Amin "amin" (X) "the smallest element";
    Asin "asin" (X) "the inverse of the sine";
    Atan "atan" (X) "the inverse of the tangent";
    Atanh "atanh" (X) "the inverse of the hyperbolic tangent";
    Bce "bce" (X Y) "binary cross entropy of probabilities";
    BceWithLogits "bce-with-logits" (X Y) "binary cross entropy of logits";
    Cosh "cosh" (X) "the hyperbolic cosine";
    CosineSimilarity "cosine-similarity" (X Y Epsilon) "the cosine of the angle between x and y";
    Erf "erf" (X) "the error function";
    Exp2 "exp2" (X) "two to the power x";
    Expm1 "expm1" (X) "e to the power x, less one";
    Gelu "gelu" (X) "x times its share of a normal distribution";
    Huber "huber" (X Y Delta) "the Huber loss";
    L1 "l1" (X Y) "the mean of |x - y|";
    Log10 "log10" (X) "the logarithm to base ten";
    Log2 "log2" (X) "the logarithm to base two";
    Logsumexp "logsumexp" (X) "the logarithm of a sum of powers";
    Mse "mse" (X Y) "the mean of (x - y) ** 2";
    Norm "norm" (X P) "a norm of order one or two";
    Normalize "normalize" (X P Epsilon) "divided by its norm";
    Rsqrt "rsqrt" (X) "one over the square root";
    Sign "sign" (X) "minus one, zero or one";
    Silu "silu" (X) "x times its sigmoid";
    Sinh "sinh" (X) "the hyperbolic sine";
    SmoothL1 "smooth-l1" (X Y Beta) "the smooth L1 loss";
    Softplus "softplus" (X Beta Threshold) "by default a smooth relu";
    Std "std" (X Unbiased Correction) "the standard deviation";
    Tan "tan" (X) "the tangent";
    Var "var" (X Unbiased Correction) "the variance";
}

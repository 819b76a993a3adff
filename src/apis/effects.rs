//! What a call does: the verbs of the training protocol, with what they act on.

use super::words::vocabulary;

vocabulary! {
    /// A verb of the training protocol, sorted by name.
    Verb "effect"
    classes {}
    AddLayer "add-layer" (Model Layer [Index]) "a model grows by a layer, at its end or before another";
    AddParams "add-params" (Optimizer Group) "an optimizer owns more parameters";
    Average "average" (Value) "the mean of this over the batches of an evaluation is reported";
    Backward "backward" (Loss [Gradient RetainGraph CreateGraph])
        "walks the graph and accumulates into its parameters";
    Call "call" (F; Args) "calls back";
    Clear "clear" (X) "the gradients of an optimizer, module or parameters become none or zero";
    ClearSession "clear-session" () "the framework forgets the models that it keeps";
    Clip "clip" (Parameters [Bound]) "bounds their gradients; a bound of infinity only measures them";
    Compile "compile" (Model Optimizer [Loss Module])
        "a model learns what it is trained with; a loss given by its name is in the module";
    Copy "copy" (X [Word])
        "an array becomes a tensor as a whole; with 'traced' that matters in a traced function only";
    DefaultDevice "default-device" (Device) "from here on factories and layers are on this device";
    DefaultDType "default-dtype" (Dtype) "from here on new tensors and layers are of this dtype";
    Detach "detach" (X) "leaves the graph, in place";
    Differentiate "differentiate" (Loss)
        "a tape walks what it recorded on the way to a loss, or to what a function gives";
    Draw "draw" (X) "random numbers are drawn that a key alone decides: x, or each in a dict";
    Drop "drop" (P [Training]) "numbers are dropped with this probability, unless the flag is off";
    Empty "empty" (Word) "free memory is looked for and handed back: 'cache' or 'garbage'";
    Eval "eval" (Module) "sets the mode to evaluation";
    Example "example" (F X) "calls it with x, or with each of a tuple, to see what it computes";
    ExampleOf "example-of" (F Sizes [N])
        "calls it with numbers of these sizes to see what it computes; n samples, unless the sizes say how many";
    Exhaust "exhaust" (Iterator) "goes through an iterator to its end";
    FindDevices "find-devices" () "the framework looks which GPUs it sees, and keeps to these from here on";
    Fit "fit" (Model [Data BatchSize]) "the framework runs the whole loop";
    FixAlgorithms "fix-algorithms" ([Flag])
        "operations give the same numbers in each run, where the flag is on";
    GradMode "grad-mode" (Flag) "sets whether gradients are recorded, from here on";
    Hook "hook" (Module F Word)
        "from here on the module's calls call back, 'before' or 'after', wherever they stand, with the module in front";
    Move "move" (X Device) "goes to a device, in place (a module)";
    Observe "observe" (Receiver X) "a transformer learns from all rows of x what it does to each of them";
    Predict "predict" (Model X) "the framework runs its loop of predictions over x";
    Processes "processes" (N) "so many processes train together";
    ReadClock "read-clock" () "tells the time";
    ReadScale "read-scale" (Scaler) "the script learns the scale";
    Recompute "recompute" (Reentrant)
        "a part of the model runs again in the backward pass; a parameter that is not given leaves open how";
    Redraw "redraw" (X) "its parameters are drawn again, as for a new module";
    RefuseAutocast "refuse-autocast" (X) "ends the run where x is on the GPU and autocast is on";
    RefuseBoth "refuse-both" (X Y) "ends the run where both are true";
    RefuseHalf "refuse-half" (Scaler Optimizer)
        "ends the run where an optimizer has gradients in half precision to be unscaled";
    RefuseUnequal "refuse-unequal" (Flag X Y; Y)
        "ends the run where the flag is true and x is another text than the first of the others that is given";
    Register "register" (Module Name Value [Word]) "value becomes the attribute of that name, a 'buffer' whatever it is";
    Replicate "replicate" (Module) "each process has a copy, and they train together";
    RequiresGrad "requires-grad" (X Flag) "whether gradients are wanted, in place";
    Restore "restore" (X [Value]) "its parameters get values from elsewhere, or those of a state dict";
    Schedule "schedule" (Scheduler [Epoch]) "goes on to the next learning rate, or to that of an epoch";
    ScoreOn "score-on" (Data) "the framework scores a model on the batches of a loader";
    Seed "seed" (X) "random numbers begin anew from x";
    SetEpoch "set-epoch" (Sampler) "from here on another order";
    Spawn "spawn" (F [Args]) "calls back in processes of their own, with the rank in front of the arguments";
    StartMethod "start-method" (Name) "how processes are started from here on";
    Step "step" (Optimizer [Closure Scaler Repeats])
        "applies gradients, through a scaler that divides them by its scale; runs its closure more than once";
    StepHook "step-hook" (Optimizer F Word) "each step of the optimizer calls back: 'before' or 'after'";
    Train "train" (Module [Flag]) "sets the mode to training, or as the flag says";
    TrainBatch "train-batch" (Model [Data]) "the framework takes one step";
    Trainable "trainable" (X Flag) "from the next compilation on its parts learn, or do not";
    TryAlgorithms "try-algorithms" ([Flag])
        "the fastest algorithm is found by trial in each run, where the flag is on";
    Unknown "unknown" (X) "may do anything to x";
    Unscale "unscale" (Scaler Optimizer) "the gradients of an optimizer are divided by the scale, in place";
    Update "update" (Optimizer Variables) "gradients are applied to these, in whichever replica";
    UpdateScale "update-scale" (Scaler) "the scaler chooses its next scale";
    Validate "validate" (X Y) "the framework scores a model that trains with x by y";
    Wait "wait" () "returns when the GPU has done all that it was given";
    Walk "walk" (Loss [Gradient RetainGraph CreateGraph]) "walks the graph, accumulates into nothing";
    WatchBackward "watch-backward" ([Flag])
        "backward passes look for the operation that made a nan, where the flag is on";
    WorkerInfo "worker-info" () "the caller learns which worker of a loader it is";
    Zero "zero" (X) "the numbers of a tensor become zero, in place; clears where x is a gradient";
}

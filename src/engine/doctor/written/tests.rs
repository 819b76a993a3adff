use super::*;

fn read_one(path: &str, text: &str) -> Setup {
    read(path, text, &|name| (name == "requirements.txt").then(|| "torch==2.1.0\n".to_owned())).pop().unwrap()
}

/// `name release+local@line`, with the tag of its index.
fn packages(setup: &Setup) -> Vec<String> {
    let shown = |(list, one): (&List, &Package)| {
        let release = one.release.as_ref().map_or(String::new(), |release| format!(" {release}"));
        let tag = list.tag_of(one).map_or(String::new(), |tag| format!(" for {tag}"));
        format!("{}{release}{tag} @{}", one.name, one.line)
    };
    setup.packages().map(shown).collect()
}

#[test]
fn stages_of_a_dockerfile_take_over_what_they_begin_with() {
    let text = "ARG CUDA=11.8.0\nFROM nvidia/cuda:${CUDA}-cudnn8-devel-ubuntu22.04 AS base\nRUN apt-get update && \\\n    # a comment\n    pip3 install torch==2.1.0 --index-url https://download.pytorch.org/whl/cu118\nFROM base\nRUN python3 -m pip install -r requirements.txt && pip install -e .\n";
    let stages = read("Dockerfile", text, &|_| Some("numpy\ntorchvision==0.16.0\n".to_owned()));
    assert_eq!(stages.len(), 2);
    let last = stages.last().unwrap();
    assert_eq!(packages(last), ["torch 2.1.0 for cu118 @3", "numpy @7", "torchvision 0.16.0 @7"]);
    let image = &last.image.as_ref().unwrap();
    assert_eq!((image.line, image.it.cuda.as_ref().unwrap().to_string().as_str()), (2, "11.8.0"));
    assert_eq!(last.compiles, Some(7));
}

#[test]
fn lists_of_requirements_name_their_index() {
    let text = "--extra-index-url https://download.pytorch.org/whl/cu113\ntorch==1.12.1  # old\ntorchvision == 0.13.1\njax[cuda12_pip]==0.4.20\nhttps://download.pytorch.org/whl/cu92/torch-1.7.1%2Bcu92-cp38-cp38-linux_x86_64.whl\n";
    let setup = read_one("requirements.txt", text);
    assert_eq!(packages(&setup)[..2], ["torch 1.12.1 for cu113 @2", "torchvision 0.13.1 for cu113 @3"]);
    assert_eq!(packages(&setup)[3], "torch 1.7.1 for cu92 @5");
    assert_eq!(setup.lists[0].packages[2].extras, ["cuda12_pip"]);
    assert!(!setup.lists[0].is_only);
}

#[test]
fn environments_have_channels_and_two_kinds_of_dependencies() {
    let text = "name: x\nchannels:\n  - pytorch\n  - nvidia\ndependencies:\n  - python=3.9\n  - pytorch::pytorch=1.12.1\n  - cudatoolkit=11.6.*\n  - pip:\n    - torchmetrics==0.9\n  - numpy>=1.2\n";
    let setup = read_one("environment.yml", text);
    assert_eq!(setup.lists[0].channels, ["pytorch", "nvidia", "pytorch"]);
    assert_eq!(
        packages(&setup),
        ["pytorch 1.12.1 @7", "cudatoolkit 11.6 @8", "numpy @11", "torchmetrics 0.9 @10"]
    );
    assert_eq!(setup.python.unwrap().it.to_string(), "3.9");
}

#[test]
fn scripts_of_a_cluster_load_modules_and_ask_for_gpus() {
    let text = "#!/bin/bash\n#SBATCH --gres=gpu:2\nCUDA=11.2\nmodule purge && module load gcc/9 cuda/$CUDA cudnn/8.1.1\n";
    let setup = read_one("train.slurm", text);
    let modules: Vec<String> = setup.modules.iter().map(|one| format!("{} {}", one.it.0, one.it.1)).collect();
    assert_eq!(modules, ["cuda 11.2", "cudnn 8.1.1"]);
    assert_eq!(setup.gpu, Some(2));
}

#[test]
fn what_a_job_fills_in_is_not_known() {
    let setup =
        read_one(".github/workflows/ci.yml", "      - run: pip install torch==${{ matrix.torch }} numpy\n");
    assert_eq!(packages(&setup), ["torch @1", "numpy @1"]);
}

#[test]
fn commands_of_conda_have_channels() {
    let command = "conda create -n x pytorch==1.13.1 pytorch-cuda=11.7 cpuonly -c pytorch -c nvidia -y";
    let setup = read_one("setup.sh", command);
    let list = &setup.lists[0];
    assert_eq!(list.channels, ["pytorch", "nvidia"]);
    assert_eq!(list.packages.len(), 3);
}
